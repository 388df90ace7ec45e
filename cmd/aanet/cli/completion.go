package cli

import (
	"fmt"
	"slices"
	"strings"
)

func runCompletion(c *call) error {
	script, ok := map[string]func([]level) string{"bash": bashCompletion, "zsh": zshCompletion, "fish": fishCompletion}[c.arg(0)]
	if !ok {
		return usagef("SHELL is bash, zsh or fish")
	}
	_, err := fmt.Fprint(c.Stdout, script(levels()))
	return err
}

// level is a place on the command line: what was said so far, and what may follow.
type level struct {
	path  string // "", "/keys", "/keys/mint"
	words []completion
}

// completion is one word that may follow.
type completion struct{ word, help string }

// serverWords are the commands of the program that are none of this package; set once, by Complete.
var serverWords []completion

// Complete adds the commands that run a service to what completion offers.
func Complete(servers []Server) {
	serverWords = nil
	for _, s := range servers {
		serverWords = append(serverWords, completion{s.Name, s.Summary})
	}
}

// levels is the table of commands as completion needs it.
func levels() []level {
	all := []level{{path: ""}}
	at := func(path string) *level {
		i := slices.IndexFunc(all, func(l level) bool { return l.path == path })
		if i < 0 {
			all = append(all, level{path: path})
			i = len(all) - 1
		}
		return &all[i]
	}
	add := func(path string, c completion) {
		l := at(path)
		if !slices.ContainsFunc(l.words, func(o completion) bool { return o.word == c.word }) {
			l.words = append(l.words, c)
		}
	}
	for _, c := range commands() {
		first, second, two := strings.Cut(c.name, " ")
		path := "/" + first
		if two {
			add("", completion{first, "commands for " + first})
			add(path, completion{second, c.summary})
			path += "/" + second
		} else {
			add("", completion{first, c.summary})
		}
		for _, o := range c.options() {
			add(path, completion{"--" + o.name, o.help})
		}
		if c.name == "completion" {
			for _, shell := range []string{"bash", "zsh", "fish"} {
				add(path, completion{shell, "for " + shell})
			}
		}
	}
	for _, c := range append(serverWords, completion{"help", "explain a command"}) {
		add("", c)
	}
	return all
}

// paths lists the places beyond the first.
func paths(all []level, quote string) string {
	var list []string
	for _, l := range all[1:] {
		list = append(list, quote+l.path+quote)
	}
	return strings.Join(list, "|")
}

func bashCompletion(all []level) string {
	var b strings.Builder
	fmt.Fprintf(&b, `# Completion of aanet for bash: eval "$(aanet completion bash)"
_aanet() {
  local cur=${COMP_WORDS[COMP_CWORD]} path= words= i
  for ((i = 1; i < COMP_CWORD; i++)); do
    [[ ${COMP_WORDS[i]} == -- ]] && return
    case "$path/${COMP_WORDS[i]}" in
      %s) path+=/${COMP_WORDS[i]} ;;
    esac
  done
  case "$path" in
`, paths(all, ""))
	for _, l := range all {
		var words []string
		for _, c := range l.words {
			words = append(words, c.word)
		}
		fmt.Fprintf(&b, "    '%s') words='%s' ;;\n", l.path, strings.Join(words, " "))
	}
	b.WriteString("  esac\n  COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n}\ncomplete -o default -F _aanet aanet\n")
	return b.String()
}

// quoted is a word between single quotes, as all three shells read it.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

func zshCompletion(all []level) string {
	var b strings.Builder
	fmt.Fprintf(&b, `#compdef aanet
# Completion of aanet for zsh: eval "$(aanet completion zsh)" after compinit
_aanet() {
  local at= i
  local -a offers
  for ((i = 2; i < CURRENT; i++)); do
    [[ ${words[i]} == -- ]] && { _normal; return }
    case "$at/${words[i]}" in
      %s) at+=/${words[i]} ;;
    esac
  done
  case "$at" in
`, paths(all, ""))
	for _, l := range all {
		var offers []string
		for _, c := range l.words {
			offers = append(offers, quoted(strings.ReplaceAll(c.word, ":", `\:`)+":"+c.help))
		}
		fmt.Fprintf(&b, "    '%s') offers=(%s) ;;\n", l.path, strings.Join(offers, " "))
	}
	b.WriteString("  esac\n  _describe aanet offers || _files\n}\ncompdef _aanet aanet\n")
	return b.String()
}

func fishCompletion(all []level) string {
	var b strings.Builder
	b.WriteString("# Completion of aanet for fish: aanet completion fish > ~/.config/fish/completions/aanet.fish\nfunction __aanet_at\n  set -l at ''\n" +
		"  for word in (commandline -opc)[2..-1]\n    if contains -- \"$at/$word\" ")
	for _, l := range all[1:] {
		b.WriteString(quoted(l.path) + " ")
	}
	b.WriteString("\n      set at \"$at/$word\"\n    end\n  end\n  test \"$at\" = \"$argv[1]\"\nend\n")
	for _, l := range all {
		for _, c := range l.words {
			what := "-a " + quoted(c.word)
			if name, isFlag := strings.CutPrefix(c.word, "--"); isFlag {
				what = "-l " + name
			}
			fmt.Fprintf(&b, "complete -c aanet -n \"__aanet_at '%s'\" %s -d %s\n", l.path, what, quoted(c.help))
		}
	}
	return b.String()
}
