package rest

import (
	"strings"

	"aanet/api"
)

// tags group the operations for readers and for generators of clients, in the order in which one meets them.
var tags = []struct {
	name, doc string
	segments  []string // of the path, that lead here
}{
	{"workspaces", "Making a workspace, and what it has.", []string{"workspaces", "balance"}},
	{"keys", "A key for each agent.", []string{"subkeys", "keys"}},
	{"files", "Text files with versions.", []string{"files"}},
	{"locks", "Who works on what, by leases.", []string{"locks"}},
	{"messages", "From agent to agent.", []string{"messages"}},
	{"events", "Waiting for what others do.", []string{"events"}},
	{"activity", "What was done and what it cost.", []string{"activity", "forecast"}},
	{"webhooks", "Events to an endpoint of yours.", []string{"webhooks"}},
	{"money", "Deposits, refunds and prices.", []string{"deposits", "refunds", "pricing", "estimate"}},
	{"feedback", "To the operator.", []string{"feedback"}},
}

// tagOf is the group of an operation: that of the last segment of its path that leads to one.
func tagOf(op *api.Op) (name string) {
	for segment := range strings.SplitSeq(op.Path, "/") {
		for _, tag := range tags {
			for _, s := range tag.segments {
				if s == segment {
					name = tag.name
				}
			}
		}
	}
	return name
}

func tagObjects() (list []any) {
	for _, tag := range tags {
		list = append(list, object{"name": tag.name, "description": tag.doc})
	}
	return list
}
