package clientgen

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"aanet/api"
)

// writeOperation writes an operation's method, and its input type when it has inputs.
func writeOperation(b *bytes.Buffer, o *api.Op) error {
	method := goName(o.Name)
	if hasInput(o) {
		if err := writeInput(b, o); err != nil {
			return err
		}
	}
	comment(b, method+": "+lowerFirst(o.Summary))
	b.WriteString("//\n")
	comment(b, o.Doc)
	b.WriteString("//\n")
	comment(b, fmt.Sprintf("REST: %s %s. Who: %s. Units: %d%s.", o.Method, o.Path, o.Who, o.Price.Base, perKiB(o)))
	parameter := ""
	if hasInput(o) {
		parameter = "in " + method + "In, "
	}
	answer, caller := o.Out.Name(), "call"
	result := answer
	if o.IsList {
		answer, caller = listElement(o.Out).Name(), "callList"
		result = "[]" + answer
	}
	fmt.Fprintf(b, "func (c *Client) %s(ctx context.Context, %soptions ...CallOption) (%s, error) {\n", method, parameter, result)
	fmt.Fprintf(b, "return %s[%s](ctx, c, request{\n", caller, answer)
	writeRequest(b, o)
	b.WriteString("}, options)\n}\n\n")
	return nil
}

// writeRequest writes the members of the request that a method makes.
func writeRequest(b *bytes.Buffer, o *api.Op) {
	below, inside := strings.CutPrefix(o.Path, "/v1/workspaces/{workspace_id}")
	fmt.Fprintf(b, "name: %q, method: %q, path: %s,\n", o.Name, o.Method, address(o, below))
	if inside {
		b.WriteString("workspace: true,\n")
	}
	if o.ReadOnly {
		b.WriteString("read: true,\n")
	}
	if o.TakesIdempotencyKey() {
		b.WriteString("takesKey: true,\n")
	}
	var arguments, headers []string
	for i := range o.In.Fields {
		f := &o.In.Fields[i]
		switch {
		case slices.Contains(o.PathParams(), f.Name), f.HeaderOnly:
		case f.Hidden:
			headers = append(headers, fmt.Sprintf("%q: ifSet(in.%s),\n", headerName(f.Name), goName(f.Name)))
		default:
			arguments = append(arguments, fmt.Sprintf("{%q, %s},\n", f.Name, argument(f)))
		}
	}
	if arguments != nil {
		fmt.Fprintf(b, "input: []argument{\n%s},\n", strings.Join(arguments, ""))
	}
	if headers != nil {
		fmt.Fprintf(b, "header: map[string]string{\n%s},\n", strings.Join(headers, ""))
	}
}

// address is the Go expression of the operation's address.
func address(o *api.Op, path string) string {
	var parts []string
	for path != "" {
		literal, rest, found := strings.Cut(path, "{")
		if literal != "" {
			parts = append(parts, fmt.Sprintf("%q", literal))
		}
		if !found {
			break
		}
		name, after, _ := strings.Cut(rest, "}")
		name, takesRest := strings.CutSuffix(name, "...")
		parts = append(parts, escape(o, name, takesRest)+"(in."+goName(name)+")")
		path = after
	}
	if parts == nil {
		return `""`
	}
	return strings.Join(parts, " + ")
}

func escape(o *api.Op, name string, takesRest bool) string {
	f, known := o.In.Field(name)
	switch {
	case !takesRest:
		return "escapeSegment"
	case known && f.Check == "directory":
		return "escapeDirectory"
	}
	return "escapePath"
}

// argument is the Go expression of an input's value.
func argument(f *api.Field) string {
	switch {
	case f.Nullable:
		return "given(in." + goName(f.Name) + ")"
	case f.Default != "":
		return "unlessZero(in." + goName(f.Name) + ")"
	}
	return "in." + goName(f.Name)
}

// hasInput tells whether a method has an input; an idempotency key is an option of the call.
func hasInput(o *api.Op) bool {
	return slices.ContainsFunc(o.In.Fields, func(f api.Field) bool { return !f.HeaderOnly })
}

func writeInput(b *bytes.Buffer, o *api.Op) error {
	method := goName(o.Name)
	comment(b, method+"In is the input of "+method+". Pointers are optional; nil is not sent.")
	fmt.Fprintf(b, "type %sIn struct {\n", method)
	for i := range o.In.Fields {
		f := &o.In.Fields[i]
		if f.HeaderOnly {
			continue
		}
		kind, err := inputType(o, f)
		if err != nil {
			return fmt.Errorf("input %s: %w", f.Name, err)
		}
		comment(b, inputDoc(f))
		fmt.Fprintf(b, "%s %s\n", goName(f.Name), kind)
	}
	b.WriteString("}\n\n")
	return nil
}

// inputType is a field's Go type. What the client could not express is an error, so that it is found when it is added.
func inputType(o *api.Op, f *api.Field) (string, error) {
	kind := map[api.Kind]string{
		api.KindString: "string", api.KindInteger: "int64", api.KindBoolean: "bool", api.KindStrings: "[]string",
	}[f.Kind]
	if f.Check == "timestamp" {
		kind = "time.Time"
	}
	switch {
	case f.Kind == api.KindStrings && !o.HasBody():
		return "", fmt.Errorf("a query has no lists")
	case f.Default != "" && zeroMeansAnother(f):
		return "", fmt.Errorf("zero is allowed and is not the default %s", f.Default)
	case f.Nullable:
		kind = "*" + kind
	}
	return kind, nil
}

// zeroMeansAnother tells whether Go's zero value is an input of its own, so that it cannot stand for the default.
func zeroMeansAnother(f *api.Field) bool {
	switch f.Kind {
	case api.KindInteger:
		return f.Default != "0" && (f.Min == nil || *f.Min <= 0)
	case api.KindBoolean:
		return f.Default != "false"
	}
	return false
}

func inputDoc(f *api.Field) string {
	switch {
	case f.Hidden:
		return "Sends the header " + headerName(f.Name) + ": *, which REST has and MCP has not."
	case f.Default != "" && f.Kind == api.KindString:
		return f.Doc + " Empty: " + f.Default + "."
	case f.Default != "" && f.Kind == api.KindInteger && f.Default != "0":
		return f.Doc + " 0: " + f.Default + "."
	}
	return f.Doc
}

// headerName writes if_none_match as If-None-Match.
func headerName(name string) string {
	words := strings.Split(name, "_")
	for i, word := range words {
		words[i] = strings.ToUpper(word[:1]) + word[1:]
	}
	return strings.Join(words, "-")
}

func perKiB(o *api.Op) string {
	if o.Price.PerKiB == 0 {
		return ""
	}
	return fmt.Sprintf(" + %d per started KiB", o.Price.PerKiB)
}

func lowerFirst(s string) string { return strings.ToLower(s[:1]) + s[1:] }
