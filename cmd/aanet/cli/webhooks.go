package cli

import (
	"strconv"
	"strings"

	"aanet/api/client"
)

func webhookCommands() []*command {
	one := func(name, summary, detail string, run func(*call) error, flags ...option) *command {
		return &command{name: "webhooks " + name, group: groupOwner, args: "WEBHOOK_ID", min: 1, max: 1, summary: summary, detail: detail, run: run, flags: flags}
	}
	return []*command{
		{
			name: "webhooks register", group: groupOwner, args: "URL EVENTS", min: 2, max: 2, summary: "post events to an address", run: runRegister,
			detail: "Registers an https address for EVENTS, separated by commas: file_write, file_delete, lock_available, message, balance_low. Prints the secret that signs " +
				"them, this once. Each attempt costs 2 units. Owner key.",
			flags: []option{{"balance-low", "UNITS", "with balance_low: warn below this (1000)"}},
		},
		{
			name: "webhooks list", group: groupOwner, summary: "list webhooks", run: runWebhooks,
			detail: "Lists all webhooks, disabled ones included. Free; owner key.", example: "aanet webhooks list",
		},
		one("delete", "delete a webhook", "Nothing more is sent to it. Free; owner key.", runDeleteWebhook),
		one("deliveries", "show how deliveries went", "Shows the attempts of the last 30 days, newest first. Free; owner key.", runDeliveries,
			option{"limit", "N", "at most so many, 1 to 200 (50)"}),
		one("ping", "send a ping", "Sends an event of type ping to this webhook. 2 units; owner key.", runPing),
		one("redeliver", "send events again", "Sends one delivery's event again, or all that were never delivered since a time. 2 units an attempt; owner key.", runRedeliver,
			option{"delivery", "ID", "this delivery's event"}, option{"since", "TIME", "all undelivered since then, within three days"}),
		one("enable", "make a disabled webhook active again", "Forgets its failures and sends what waits. Free; owner key.", runEnable),
		one("rotate-secret", "give it a new secret", "Prints the new secret, this once; the old one signs beside it for 24 hours. Free; owner key.", runRotateSecret),
	}
}

func runRegister(c *call) error {
	owner, err := c.connect()
	if err != nil {
		return err
	}
	in := client.RegisterWebhookIn{URL: c.arg(0), Events: strings.Split(c.arg(1), ",")}
	if in.BalanceLowUnits, err = c.number("balance-low"); err != nil {
		return err
	}
	return show(c, func(raw client.CallOption) (client.RegisterWebhookOut, error) {
		return owner.RegisterWebhook(c.ctx, in, raw)
	},
		func(out client.RegisterWebhookOut) {
			table(c.Stdout, [][]string{{"id", out.WebhookID}, {"url", out.URL}, {"events", strings.Join(out.Events, ", ")}, {"secret", out.Secret}})
			c.note("The secret is shown this once.")
		})
}

var webhookHeads = []string{"ID", "URL", "EVENTS", "ACTIVE", "REASON", "CREATED"}

func webhookRow(w client.WebhookOut) []string {
	return []string{w.WebhookID, w.URL, strings.Join(w.Events, ","), yesNo(w.Active), textOr(w.DisabledReason, ""), moment(w.CreatedAt)}
}

func runWebhooks(c *call) error {
	owner, err := c.connect()
	if err != nil {
		return err
	}
	return showList(c, func(raw client.CallOption) ([]client.WebhookOut, error) { return owner.ListWebhooks(c.ctx, raw) }, webhookHeads, webhookRow)
}

func runDeleteWebhook(c *call) error {
	owner, err := c.connect()
	if err != nil {
		return err
	}
	return show(c, func(raw client.CallOption) (client.DeleteWebhookOut, error) {
		return owner.DeleteWebhook(c.ctx, client.DeleteWebhookIn{WebhookID: c.arg(0)}, raw)
	}, func(out client.DeleteWebhookOut) { c.say("deleted %s", out.WebhookID) })
}

func runDeliveries(c *call) error {
	owner, err := c.connect()
	if err != nil {
		return err
	}
	in := client.GetWebhookDeliveriesIn{WebhookID: c.arg(0)}
	if in.Limit, err = c.count("limit"); err != nil {
		return err
	}
	return showList(c, func(raw client.CallOption) ([]client.DeliveryOut, error) {
		return owner.GetWebhookDeliveries(c.ctx, in, raw)
	},
		[]string{"TIME", "EVENT", "ATTEMPT", "ANSWER", "MS", "OK", "ERROR", "ID"}, func(d client.DeliveryOut) []string {
			return []string{
				moment(d.TS), d.EventType, strconv.FormatInt(d.Attempt, 10), unitsOr(d.StatusCode, "none"), unitsOr(d.DurationMs, ""),
				yesNo(d.Success), textOr(d.Error, ""), d.DeliveryID,
			}
		})
}

func runPing(c *call) error {
	owner, err := c.connect()
	if err != nil {
		return err
	}
	return show(c, func(raw client.CallOption) (client.PingWebhookOut, error) {
		return owner.PingWebhook(c.ctx, client.PingWebhookIn{WebhookID: c.arg(0)}, raw)
	}, func(out client.PingWebhookOut) { c.say("queued as %s", out.EventID) })
}

func runRedeliver(c *call) error {
	owner, err := c.connect()
	if err != nil {
		return err
	}
	in := client.RedeliverEventsIn{WebhookID: c.arg(0), DeliveryID: c.text("delivery")}
	if in.Since, err = c.since("since"); err != nil {
		return err
	}
	return show(c, func(raw client.CallOption) (client.RedeliverOut, error) { return owner.RedeliverEvents(c.ctx, in, raw) },
		func(out client.RedeliverOut) {
			c.say("queued %s", grouped(out.Queued))
			if out.More {
				c.say("there are more: call again")
			}
		})
}

func runEnable(c *call) error {
	owner, err := c.connect()
	if err != nil {
		return err
	}
	return show(c, func(raw client.CallOption) (client.WebhookOut, error) {
		return owner.EnableWebhook(c.ctx, client.EnableWebhookIn{WebhookID: c.arg(0)}, raw)
	}, func(out client.WebhookOut) { table(c.Stdout, [][]string{webhookHeads, webhookRow(out)}) })
}

func runRotateSecret(c *call) error {
	owner, err := c.connect()
	if err != nil {
		return err
	}
	return show(c, func(raw client.CallOption) (client.RotateSecretOut, error) {
		return owner.RotateWebhookSecret(c.ctx, client.RotateWebhookSecretIn{WebhookID: c.arg(0)}, raw)
	}, func(out client.RotateSecretOut) {
		table(c.Stdout, [][]string{{"secret", out.Secret}, {"the old one signs until", moment(out.PreviousValidUntil)}})
		c.note("The secret is shown this once.")
	})
}
