package api

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// Kind is the JSON type of an input field.
type Kind int

// The kinds of input fields. Inputs are flat: there are no others.
const (
	KindString Kind = iota
	KindInteger
	KindBoolean
	KindStrings // a list of strings
)

// Field is one input of an operation, read from a struct field and its tags:
//
//	json:"name"      its name on both doors
//	doc:"…"          what it is, for people and agents
//	check:"rule"     a rule of checks.go
//	min:"1" max:"9"  bounds of an integer
//	maxlen:"4000"    code points of a string
//	default:"100"    makes the field optional with this value
//	header:"X-Name"  a header of REST that may give it instead
//	meta:"a/name"    a key of MCP's _meta that may give it instead
//	rest:"header"    an input that only REST has, in a header, and that is listed nowhere
//	null:"unlisted"  an optional input that the list of tools shows without null, to be short
//
// A pointer field is optional and null means absent; every other field without default is required.
type Field struct {
	Name     string
	Doc      string
	Kind     Kind
	Check    string
	Required bool
	Default  string // as JSON; empty when there is none
	Min, Max *int64
	MaxLen   int
	Nullable bool   // null means absent
	Header   string // of REST, that may give it instead
	Meta     string // key of MCP's _meta that may give it instead
	Hidden   bool   // comes from a header of REST and is listed nowhere

	HeaderOnly bool // REST takes it from Header only; MCP as an argument
	Unlisted   bool // null is taken, but the list of tools does not say so
	Known      bool // explained once for all tools, so the list does not repeat Doc in each

	index int // in the struct, or notInStruct
}

// notInStruct is the index of an input that is no matter of the operation's own rule.
const notInStruct = -1

// Shape is the input of an operation.
type Shape struct {
	Fields []Field

	typ reflect.Type
}

// Field finds a field by its name.
func (s *Shape) Field(name string) (*Field, bool) {
	for i := range s.Fields {
		if s.Fields[i].Name == name {
			return &s.Fields[i], true
		}
	}
	return nil, false
}

// shapeOf reads a struct type. It panics on a type that it cannot express: operations are built
// once at start, so that is found by every test.
func shapeOf(t reflect.Type) *Shape {
	s := &Shape{typ: t}
	for i := range t.NumField() {
		s.Fields = append(s.Fields, fieldOf(t.Field(i), i))
	}
	return s
}

func fieldOf(sf reflect.StructField, index int) Field {
	f := Field{
		Name: sf.Tag.Get("json"), Doc: sf.Tag.Get("doc"), Check: sf.Tag.Get("check"), Default: sf.Tag.Get("default"),
		Min: bound(sf.Tag.Get("min")), Max: bound(sf.Tag.Get("max")), index: index, Hidden: sf.Tag.Get("rest") == "header",
		Header: sf.Tag.Get("header"), Meta: sf.Tag.Get("meta"), Unlisted: sf.Tag.Get("null") == "unlisted",
	}
	f.MaxLen, _ = strconv.Atoi(sf.Tag.Get("maxlen"))
	t := sf.Type
	if t.Kind() == reflect.Pointer {
		f.Nullable = true
		t = t.Elem()
	}
	f.Required = !f.Nullable && f.Default == ""
	switch {
	case t.Kind() == reflect.String:
		f.Kind = KindString
	case t.Kind() == reflect.Int64:
		f.Kind = KindInteger
	case t.Kind() == reflect.Bool:
		f.Kind = KindBoolean
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.String:
		f.Kind = KindStrings
	default:
		panic(fmt.Sprintf("input field %s has type %s", sf.Name, sf.Type))
	}
	if _, known := checks[f.Check]; f.Check != "" && !known || f.Name == "" || strings.Contains(f.Name, ",") {
		panic(fmt.Sprintf("input field %s has a wrong tag", sf.Name))
	}
	return f
}

func bound(tag string) *int64 {
	if tag == "" {
		return nil
	}
	n, err := strconv.ParseInt(tag, 10, 64)
	if err != nil {
		panic("bound " + tag)
	}
	return &n
}
