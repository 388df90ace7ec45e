package api

import (
	"context"
	"reflect"
	"regexp"
	"strings"

	"aanet/billing"
)

// Who may call an operation.
type Who int

// The three kinds of callers.
const (
	Anyone Who = iota // no key needed; one that is sent is not looked at
	AnyKey            // the owner key or a sub-key of the workspace
	Owner             // the owner key only
)

// String gives the word used in the documentation.
func (w Who) String() string { return [...]string{"anyone", "any key", "owner"}[w] }

// Def is what there is to know of an operation besides its input, output and rule. REST route, MCP
// tool, OpenAPI, the documentation's table and the client all come from it.
type Def struct {
	Name    string        // aanet_<Name> is the MCP tool
	Log     string        // the operation's name in the activity log; empty when it never has a row
	Method  string        // of REST
	Path    string        // of REST; {workspace_id} is the tenant, {path...} takes the rest of the address
	Who     Who           // may call it
	Price   billing.Price // from the one price table
	Status  int           // of a REST success; 0 means 200
	Subject string        // the input that the log row names as its path
	Offer   string        // what a 402 answer offers; empty when the operation makes no offer

	WhileBlocked bool // allowed in a blocked workspace
	NotForTrials bool
	RESTOnly     bool // no MCP tool
	Final        bool // leaves nobody who could repeat it: it takes no idempotency key

	ReadOnly, Destructive, Idempotent, OpenWorld bool // hints to MCP clients

	Summary string // one line
	Doc     string // for agents: limits, cost, refusals; at most 900 characters
	Parts   string // how to get a long answer in parts; empty when it is never long
}

// Op is one operation of the service.
type Op struct {
	Def
	In     *Shape       // what it takes
	Out    reflect.Type // what it answers
	IsList bool         // whether Out is a List

	run func(ctx context.Context, c *Caller, in any) (any, error)
}

// Tool is the operation's MCP name; "" when it is no tool.
func (o *Op) Tool() string {
	if o.RESTOnly {
		return ""
	}
	return "aanet_" + o.Name
}

// InWorkspace tells whether the operation names a workspace.
func (o *Op) InWorkspace() bool { return strings.Contains(o.Path, "{workspace_id}") }

var pathParam = regexp.MustCompile(`\{(\w+)(?:\.\.\.)?\}`)

// PathParams are the names in the REST path, workspace_id included, in order.
func (o *Op) PathParams() []string {
	var names []string
	for _, m := range pathParam.FindAllStringSubmatch(o.Path, -1) {
		names = append(names, m[1])
	}
	return names
}

// HasBody tells whether REST takes the input from a JSON body (else from the query).
func (o *Op) HasBody() bool { return o.Method == "POST" || o.Method == "PUT" || o.Method == "PATCH" }

// guard is the bit set that functions/admit.sql checks.
func (o *Op) guard() int {
	g := 0
	if o.Who == Owner {
		g |= 1
	}
	if !o.WhileBlocked {
		g |= 2
	}
	if o.NotForTrials {
		g |= 4
	}
	return g
}

// List is the output of every operation that answers a list: {"result": […]}, never null.
type List[T any] struct {
	Result []T `json:"result"`
}

func (List[T]) isList() {}

func listOf[T any](items []T) List[T] {
	if items == nil {
		items = []T{}
	}
	return List[T]{Result: items}
}

// op binds a definition to its typed rule.
func op[In, Out any](d Def, run func(ctx context.Context, c *Caller, in In) (Out, error)) *Op {
	out := reflect.TypeFor[Out]()
	_, isList := reflect.Zero(out).Interface().(interface{ isList() })
	o := &Op{
		Def: d, In: shapeOf(reflect.TypeFor[In]()), Out: out, IsList: isList,
		run: func(ctx context.Context, c *Caller, in any) (any, error) { return run(ctx, c, in.(In)) },
	}
	if o.TakesIdempotencyKey() {
		o.In.Fields = append(o.In.Fields, idempotencyKey())
	}
	return o
}
