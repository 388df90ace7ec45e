package cli

import (
	"errors"
	"io"
	"strings"

	"aanet/api/client"
)

func messageCommands() []*command {
	topic := option{"topic", "TEXT", "only messages with exactly this topic"}
	since := option{"since", "TIME", "only after this time: RFC 3339, or how long ago, such as 10m"}
	return []*command{
		{
			name: "send", group: groupWork, args: "[TEXT]", max: 1, summary: "send a message", run: runSend,
			detail:  "Sends TEXT, or standard input, of 1 to 4000 characters to one key or to all. 3 units.",
			example: "aanet send 'task 1 is done' --topic progress",
			flags:   []option{{"to", "KEY_ID", "the key that gets it; without it, all"}, {"topic", "TEXT", "free text that receivers may filter by"}},
		},
		{
			name: "inbox", group: groupWork, summary: "read messages", run: runInbox,
			detail:  "Prints messages to this key and to all, oldest first. 1 unit.",
			example: "aanet inbox --topic progress",
			flags:   []option{since, topic, {"limit", "N", "at most so many, 1 to 500 (100)"}, {"wait", "TIME", "if there is none, wait so long for one, at most 50s (0s)"}},
		},
		{
			name: "follow", group: groupWork, summary: "print messages, or events, as they come", run: runFollow,
			detail: "Prints messages as inbox does, and waits for the next ones until it is stopped; each comes once and in order, also through outages. " +
				"With --events: files written and deleted, locks released and messages sent, from now on. 1 unit for every 50 s without a message, with --events 1 a minute.",
			flags: []option{
				since, topic, {"events", "", "follow the workspace's events"}, {"types", "LIST", "with --events: file_write, file_delete, lock_available, message"},
				{"path", "PREFIX", "with --events: of files, only those of this path and below"}, {"lock", "NAME", "with --events: of lock_available, only this lock"},
				{"after", "SEQ", "with --events: begin after this event"}, {"count", "N", "end after so many"},
			},
			example: "aanet follow --topic progress --count 1",
		},
	}
}

func runSend(c *call) error {
	agent, err := c.connect()
	if err != nil {
		return err
	}
	in := client.SendMessageIn{Body: c.arg(0), ToSubkeyID: c.text("to"), Topic: c.text("topic")}
	if in.Body == "" || in.Body == "-" {
		const most = 4000 * 4 // bytes of as many characters
		text, err := io.ReadAll(io.LimitReader(c.Stdin, most+1))
		if err != nil {
			return err
		}
		in.Body = strings.TrimRight(string(text), "\n")
	}
	return show(c, func(raw client.CallOption) (client.SendMessageOut, error) { return agent.SendMessage(c.ctx, in, raw) },
		func(out client.SendMessageOut) { c.say("sent %s at %s", out.MessageID, moment(out.TS)) })
}

func runInbox(c *call) error {
	agent, err := c.connect()
	if err != nil {
		return err
	}
	in := client.GetMessagesIn{Topic: c.text("topic")}
	if in.Since, err = c.since("since"); err != nil {
		return err
	}
	if in.Limit, err = c.count("limit"); err != nil {
		return err
	}
	if in.WaitSeconds, err = c.seconds("wait", 0); err != nil {
		return err
	}
	return showList(c, func(raw client.CallOption) ([]client.MessageOut, error) { return agent.GetMessages(c.ctx, in, raw) },
		[]string{"TIME", "FROM", "TO", "TOPIC", "MESSAGE"}, func(m client.MessageOut) []string {
			return []string{moment(m.TS), holder(m.FromSubkeyID), textOr(m.ToSubkeyID, "all"), textOr(m.Topic, ""), m.Body}
		})
}

// errEnough ends a follower that has given what was asked for.
var errEnough = errors.New("enough")

func runFollow(c *call) error {
	agent, err := c.connect()
	if err != nil {
		return err
	}
	count, err := c.count("count")
	if err != nil {
		return err
	}
	follow := c.followMessages
	if c.on("events") {
		follow = c.followEvents
	}
	err = follow(agent, func(object any, people string) error {
		if c.on("json") {
			if err := c.line(object); err != nil {
				return err
			}
		} else {
			c.say("%s", people)
		}
		if count--; count == 0 {
			return errEnough
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

// trouble tells that a follower tries again.
func (c *call) trouble(err error) { c.note("aanet: %s; trying again", lineOf(err)) }

func (c *call) followMessages(agent *client.Client, give func(any, string) error) error {
	since, err := c.since("since")
	if err != nil {
		return err
	}
	for m, err := range agent.FollowMessages(c.ctx, client.FollowMessagesIn{Since: since, Topic: c.text("topic"), OnTrouble: c.trouble}) {
		if err != nil {
			return err
		}
		topic := ""
		if m.Topic != nil {
			topic = "  [" + shown(*m.Topic) + "]"
		}
		if err := give(m, moment(m.TS)+"  "+holder(m.FromSubkeyID)+" to "+textOr(m.ToSubkeyID, "all")+topic+"  "+shown(m.Body)); err != nil {
			return err
		}
	}
	return nil
}

func (c *call) followEvents(agent *client.Client, give func(any, string) error) error {
	in := client.FollowEventsIn{PathPrefix: c.text("path"), LockName: c.text("lock"), OnTrouble: c.trouble}
	if types := c.values["types"]; types != "" {
		in.Types = strings.Split(types, ",")
	}
	var err error
	if in.After, err = c.number("after"); err != nil {
		return err
	}
	for e, err := range agent.FollowEvents(c.ctx, in) {
		if err != nil {
			return err
		}
		about := ""
		for _, text := range []*string{e.Path, e.LockName, e.Topic} {
			if text != nil {
				about = "  " + shown(*text)
			}
		}
		if err := give(e, moment(e.TS)+"  "+e.Type+about+"  by "+holder(e.SubkeyID)); err != nil {
			return err
		}
	}
	return nil
}
