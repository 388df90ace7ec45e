package clientgen

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"aanet/api"
)

// outputs are the struct types of all answers.
type outputs struct {
	of     map[*api.Op][]reflect.Type // of one operation, the answer's own first
	usedBy map[reflect.Type][]string  // the methods that answer with a type or a part of it
}

var timeType = reflect.TypeFor[api.Time]()

func outputTypes(operations []*api.Op) (outputs, error) {
	all := outputs{of: map[*api.Op][]reflect.Type{}, usedBy: map[reflect.Type][]string{}}
	byName := map[string]reflect.Type{}
	for _, o := range operations {
		t := o.Out
		if o.IsList {
			t = listElement(t)
		}
		found, err := structsIn(t, nil)
		if err != nil {
			return outputs{}, fmt.Errorf("output of %s: %w", o.Name, err)
		}
		all.of[o] = found
		for _, t := range found {
			if other, taken := byName[t.Name()]; taken && other != t {
				return outputs{}, fmt.Errorf("two output types are named %s", t.Name())
			}
			byName[t.Name()] = t
			all.usedBy[t] = append(all.usedBy[t], goName(o.Name))
		}
	}
	return all, nil
}

func listElement(list reflect.Type) reflect.Type { return list.Field(0).Type.Elem() }

// structsIn gathers a struct type and those it is made of.
func structsIn(t reflect.Type, found []reflect.Type) ([]reflect.Type, error) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || t == timeType || slices.Contains(found, t) {
		return found, nil
	}
	if t.Name() == "" {
		return nil, fmt.Errorf("a struct without a name")
	}
	found = append(found, t)
	for f := range t.Fields() {
		if !f.IsExported() {
			continue
		}
		if _, err := outputType(f.Type); err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
		var err error
		if found, err = structsIn(f.Type, found); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// outputType is the client's Go type for one of the service's.
func outputType(t reflect.Type) (string, error) {
	switch {
	case t == timeType:
		return "time.Time", nil
	case t.Kind() == reflect.Pointer:
		inner, err := outputType(t.Elem())
		return "*" + inner, err
	case t.Kind() == reflect.Slice:
		inner, err := outputType(t.Elem())
		return "[]" + inner, err
	case t.Kind() == reflect.Struct:
		return t.Name(), nil
	case t.Kind() == reflect.Int || t.Kind() == reflect.Int64:
		return "int64", nil
	case t.Kind() == reflect.Float64, t.Kind() == reflect.Bool, t.Kind() == reflect.String:
		return t.Kind().String(), nil
	}
	return "", fmt.Errorf("no type of the client for %s", t)
}

// writeStruct writes an output type; its fields are named as in JSON.
func writeStruct(b *bytes.Buffer, t reflect.Type, usedBy []string) {
	comment(b, fmt.Sprintf("%s is what %s answers, or a part of it. Null is nil.", t.Name(), strings.Join(usedBy, " or ")))
	fmt.Fprintf(b, "type %s struct {\n", t.Name())
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !f.IsExported() || name == "-" {
			continue
		}
		kind, _ := outputType(f.Type) // structsIn has asked
		fmt.Fprintf(b, "%s %s `json:%q`", goName(name), kind, name)
		if f.Type.Name() == "Units" {
			b.WriteString(" // units of $0.00001")
		}
		b.WriteString("\n")
	}
	b.WriteString("}\n\n")
}
