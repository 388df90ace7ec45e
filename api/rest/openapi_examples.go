package rest

import (
	_ "embed"
	"encoding/json"
	"maps"
	"slices"

	"aanet/api"
)

// examplesFile is a story that examples_test.go plays and writes down.
//
//go:embed examples.json
var examplesFile []byte

// examples are calls with their answers by operation, and refusals by code.
var examples = func() (e struct {
	Calls map[string]struct {
		Input   map[string]any
		Answers map[string]any // by status
	}
	Refusals map[string]any
}) {
	if err := json.Unmarshal(examplesFile, &e); err != nil {
		panic("examples.json: " + err.Error())
	}
	return e
}()

// exampleWorkspace is the workspace of the story.
const exampleWorkspace = "0193a1b2-c3d4-7e5f-8a9b-000000000005"

// exampleInput is what an operation was given for an input; nil when nothing was.
func exampleInput(op *api.Op, name string) any { return examples.Calls[op.Name].Input[name] }

// exampleBody is what an operation was given in its body; nil when it takes nothing there.
func exampleBody(op *api.Op, elsewhere func(name string) bool) any {
	body := maps.Clone(examples.Calls[op.Name].Input)
	maps.DeleteFunc(body, func(name string, _ any) bool { return elsewhere(name) })
	if len(op.In.Fields) == 0 || len(body) == 0 {
		return nil
	}
	return body
}

func exampleAnswer(op *api.Op, status string) any { return examples.Calls[op.Name].Answers[status] }

// withExample is a response with what the operation answered.
func withExample(op *api.Op, status string, response object) object {
	content := maps.Clone(response["content"].(object))
	withOne := maps.Clone(content[typeJSON].(object))
	if answer := exampleAnswer(op, status); answer != nil {
		withOne["example"] = answer
	}
	content[typeJSON] = withOne
	response = maps.Clone(response)
	response["content"] = content
	return response
}

// exampleRefusals are problem objects by their code.
func exampleRefusals(codes []api.Code) object {
	all := object{}
	for _, code := range slices.Sorted(slices.Values(codes)) {
		if problem := examples.Refusals[string(code)]; problem != nil {
			all[string(code)] = object{"summary": api.Describe(code), "value": problem}
		}
	}
	return all
}
