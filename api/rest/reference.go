package rest

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"aanet/api"
	"aanet/billing"
)

// described is an operation as the reference shows it.
type described struct {
	Name, Tool, Method, Path, Who, Units, Summary, Doc string
	Inputs                                             []describedInput
	Outputs                                            []string
	Refusals                                           []api.Code
}

// describedInput is one input; Where is "address", "query", "body" or a header.
type describedInput struct {
	Name, Type, Where, Need, Doc string
}

// describedCode is one refusal code.
type describedCode struct {
	Status int
	Code   api.Code
	Doc    string
}

func describe(op *api.Op) described {
	d := described{
		Name: op.Name, Tool: op.Tool(), Method: op.Method, Path: op.Path, Who: op.Who.String(), Units: priceText(op),
		Summary: op.Summary, Doc: op.Doc, Outputs: outputNames(op), Refusals: refusalsOf(op),
	}
	if op.InWorkspace() {
		d.Inputs = append(d.Inputs, describedInput{"workspace_id", "string", "address", "required", "The workspace's id."})
	}
	for _, f := range op.In.Fields {
		if !f.Hidden {
			d.Inputs = append(d.Inputs, describedInput{f.Name, inputType(f), whereOf(op, f), needOf(f), f.Doc})
		}
	}
	return d
}

func describeAll() (all []described) {
	for _, op := range api.Operations() {
		all = append(all, describe(op))
	}
	return all
}

func describeCodes() (all []describedCode) {
	status := api.Codes()
	for _, code := range byStatus(slices.Collect(maps.Keys(status))) {
		all = append(all, describedCode{status[code], code, api.Describe(code)})
	}
	return all
}

// Short is the path without what nearly all paths begin with.
func (d described) Short() string {
	return strings.ReplaceAll(strings.Replace(d.Path, "/v1/workspaces/{workspace_id}", "…", 1), "...}", "}")
}

// toolCell is the MCP tool in a table of Markdown.
func (d described) toolCell() string {
	if d.Tool == "" {
		return "none"
	}
	return "`" + d.Tool + "`"
}

func (d described) toolPhrase() string {
	if d.Tool == "" {
		return "no tool"
	}
	return "tool `" + d.Tool + "`"
}

// priceText is the price in words, from the table that calls are charged from.
func priceText(op *api.Op) string {
	price := op.Price
	switch {
	case price == billing.Price{}:
		return "free"
	case price.PerKiB > 0:
		return fmt.Sprintf("%d + %d per started KiB", price.Base, price.PerKiB)
	case op.Name == "get_lock_status":
		return fmt.Sprintf("%d (0 if never held)", price.Base)
	}
	return fmt.Sprint(price.Base)
}

func whereOf(op *api.Op, f api.Field) string {
	switch {
	case slices.Contains(op.PathParams(), f.Name):
		return "address"
	case f.HeaderOnly:
		return "header " + f.Header
	case op.HasBody():
		return "body"
	}
	return "query"
}

func needOf(f api.Field) string {
	switch {
	case f.Required:
		return "required"
	case f.Default != "":
		return "default " + strings.Trim(f.Default, `"`)
	}
	return "optional"
}

func inputType(f api.Field) string {
	name := [...]string{"string", "integer", "boolean", "list of strings"}[f.Kind]
	switch {
	case f.Min != nil && f.Max != nil:
		return fmt.Sprintf("%s %d to %d", name, *f.Min, *f.Max)
	case f.Min != nil:
		return fmt.Sprintf("%s from %d", name, *f.Min)
	}
	return name
}

// OperationsTable is docs/operations.md: every operation with its two names, its price and its refusals.
func OperationsTable() []byte {
	var b bytes.Buffer
	b.WriteString("# Operations\n\nWritten by the program from the definitions of the operations; `make docs` writes it anew.\n" +
		"Prices are in units: 1 unit = $0.00001. Every refusal is free.\n\n" +
		"| operation | MCP tool | REST | who | units |\n|---|---|---|---|---|\n")
	all := describeAll()
	for _, d := range all {
		fmt.Fprintf(&b, "| [%s](#%s) | %s | `%s %s` | %s | %s |\n", d.Name, d.Name, d.toolCell(), d.Method, d.Path, d.Who, d.Units)
	}
	for _, d := range all {
		fmt.Fprintf(&b, "\n## %s\n\n`%s %s`, %s, %s, %s\n\n%s\n", d.Name, d.Method, d.Path, d.toolPhrase(), d.Who, d.Cost(), d.Doc)
		if len(d.Inputs) > 0 {
			b.WriteString("\n| input | type | in | | |\n|---|---|---|---|---|\n")
		}
		for _, in := range d.Inputs {
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", in.Name, in.Type, in.Where, in.Need, in.Doc)
		}
		fmt.Fprintf(&b, "\nAnswers: `%s`\n\nRefusals: %s\n", strings.Join(d.Outputs, "`, `"), codeList(d.Refusals))
	}
	b.WriteString("\n## Refusal codes\n\n| status | code | what it means, and what to do |\n|---|---|---|\n")
	for _, c := range describeCodes() {
		fmt.Fprintf(&b, "| %d | `%s` | %s |\n", c.Status, c.Code, strings.ReplaceAll(c.Doc, "<key>", "`<key>`"))
	}
	return b.Bytes()
}

func codeList(codes []api.Code) string {
	words := make([]string, len(codes))
	for i, c := range codes {
		words[i] = "`" + string(c) + "`"
	}
	return strings.Join(words, ", ")
}

// Cost is the price with its unit.
func (d described) Cost() string {
	if d.Units == "free" || d.Units == "1" {
		return map[string]string{"free": "free", "1": "1 unit"}[d.Units]
	}
	return d.Units + " units"
}
