package api

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"unicode/utf8"
)

// Text is an input value that arrived as text, from a query string: it may stand for any kind.
type Text string

// FromHeader is an input value that a door took from a header; only such a value fills a hidden field.
type FromHeader bool

// decode checks values against the shape and fills a new input struct. It reports every fault.
// lenient also takes "60", "true" and a JSON list in a string, where the value is exact.
func (s *Shape) decode(values map[string]any, lenient bool) (any, []FieldFault) {
	in := reflect.New(s.typ).Elem()
	var faults []FieldFault
	for i := range s.Fields {
		f := &s.Fields[i]
		if f.Hidden {
			set, _ := values[f.Name].(FromHeader)
			in.Field(f.index).SetBool(bool(set))
			continue
		}
		message := ""
		switch value := values[f.Name]; {
		case f.index != notInStruct:
			message = f.set(in.Field(f.index), values, lenient)
		case value != nil:
			_, message = f.convert(value, lenient)
		}
		if message != "" {
			faults = append(faults, FieldFault{f.Name, message})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		f, known := s.Field(name)
		if _, fromHeader := values[name].(FromHeader); !known || f.Hidden && !fromHeader {
			faults = append(faults, FieldFault{printable(name), "is not an argument of this operation"})
		}
	}
	return in.Interface(), faults
}

// printable cuts an unknown field's name to what may be repeated in an answer.
func printable(name string) string {
	if len(name) > 64 || TextFault(name, 0, 64, false) != "" {
		return "(unprintable name)"
	}
	return name
}

// set fills one struct field from the values; it returns the fault or "".
func (f *Field) set(dest reflect.Value, values map[string]any, lenient bool) string {
	value, given := values[f.Name]
	if !given || value == nil {
		switch {
		case f.Required && !given:
			return "is required"
		case f.Required:
			return "may not be null"
		case f.Default != "":
			value, lenient = f.byDefault(), true
		default:
			return ""
		}
	}
	converted, fault := f.convert(value, lenient)
	if fault != "" {
		return fault
	}
	if f.Nullable {
		p := reflect.New(dest.Type().Elem())
		p.Elem().Set(reflect.ValueOf(converted).Convert(p.Elem().Type()))
		dest.Set(p)
	} else {
		dest.Set(reflect.ValueOf(converted).Convert(dest.Type()))
	}
	return ""
}

// byDefault is the default as a value: a string without its quotes.
func (f *Field) byDefault() Text {
	var s string
	if f.Kind == KindString && json.Unmarshal([]byte(f.Default), &s) == nil {
		return Text(s)
	}
	return Text(f.Default)
}

// convert gives the value as string, int64, bool or []string, checked against the field's bounds.
func (f *Field) convert(value any, lenient bool) (any, string) {
	switch f.Kind {
	case KindInteger:
		return f.integer(value, lenient)
	case KindBoolean:
		return boolean(value, lenient)
	case KindStrings:
		return f.strings(value, lenient)
	default:
		return f.text(value)
	}
}

func (f *Field) text(value any) (any, string) {
	var s string
	switch v := value.(type) {
	case string:
		s = v
	case Text:
		s = string(v)
	default:
		return nil, "must be a string"
	}
	if !utf8.ValidString(s) {
		return nil, "must be valid UTF-8"
	}
	if f.MaxLen > 0 {
		if n := utf8.RuneCountInString(s); n > f.MaxLen {
			return nil, fmt.Sprintf("has %d characters; the limit is %d", n, f.MaxLen)
		}
	}
	if f.Check != "" {
		if fault := checks[f.Check](s); fault != "" {
			return nil, fault
		}
	}
	if spell := spellings[f.Check]; spell != nil {
		s = spell(s)
	}
	return s, ""
}

func (f *Field) integer(value any, lenient bool) (any, string) {
	var n int64
	ok := false
	switch v := value.(type) {
	case number:
		n, ok = exactInteger(string(v))
	case Text:
		n, ok = exactIntegerText(string(v))
	case string:
		if lenient {
			n, ok = exactIntegerText(v)
		}
	}
	switch {
	case !ok:
		return nil, "must be an integer" + f.bounds()
	case f.Min != nil && n < *f.Min, f.Max != nil && n > *f.Max:
		return nil, "must be an integer" + f.bounds()
	}
	return n, ""
}

func (f *Field) bounds() string {
	switch {
	case f.Min != nil && f.Max != nil:
		return fmt.Sprintf(" from %d to %d", *f.Min, *f.Max)
	case f.Min != nil:
		return fmt.Sprintf(" of at least %d", *f.Min)
	}
	return ""
}

func boolean(value any, lenient bool) (any, string) {
	if b, ok := value.(bool); ok {
		return b, ""
	}
	text, isText := value.(Text)
	if s, ok := value.(string); ok && lenient {
		text, isText = Text(s), true
	}
	if isText && (text == "true" || text == "false") {
		return text == "true", ""
	}
	return nil, "must be true or false"
}

const listItemsMax = 100 // no list input is meant to have more

func (f *Field) strings(value any, lenient bool) (any, string) {
	if s, ok := value.(string); ok && lenient {
		var list []any
		if json.Unmarshal([]byte(s), &list) == nil && list != nil {
			value = list
		}
	}
	list, ok := value.([]any)
	if !ok {
		return nil, "must be a list of strings"
	}
	if len(list) > listItemsMax {
		return nil, fmt.Sprintf("has %d items; the limit is %d", len(list), listItemsMax)
	}
	items := make([]string, len(list))
	for i, item := range list {
		if items[i], ok = item.(string); !ok {
			return nil, "must be a list of strings"
		}
	}
	return items, ""
}
