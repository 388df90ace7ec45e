package main

import (
	"context"
	"time"

	"aanet/api/client"
)

// door is how an agent of the demo reaches the service. It is there twice, over REST and over MCP, to show that both do
// the same; refusals are *client.Error on both.
type door interface {
	readFile(ctx context.Context, path string, offset int64) (client.ReadFileOut, error)
	writeFile(ctx context.Context, path, content string, ifMatch *string) error
	appendFile(ctx context.Context, path, text string) error
	acquireLock(ctx context.Context, name string, seconds int64) error
	releaseLock(ctx context.Context, name string) error
	sendMessage(ctx context.Context, to *string, topic, body string) error
	getMessages(ctx context.Context, topic string, since *time.Time) ([]client.MessageOut, error)
	close() error
}

// meter counts what went through one door.
type meter struct{ calls, units int64 }

func (m *meter) count(units int64) {
	m.calls++
	m.units += units
}

// restDoor is the door of the Go client.
type restDoor struct {
	client *client.Client
	meter  *meter
}

// metered makes a call of the client and counts it.
func metered[Out any](d restDoor, call func(client.CallOption) (Out, error)) (Out, error) {
	var m client.Meta
	out, err := call(client.WithMeta(&m))
	d.meter.count(m.Cost)
	return out, err
}

func (d restDoor) readFile(ctx context.Context, path string, offset int64) (client.ReadFileOut, error) {
	return metered(d, func(m client.CallOption) (client.ReadFileOut, error) {
		return d.client.ReadFile(ctx, client.ReadFileIn{Path: path, Offset: offset}, m)
	})
}

func (d restDoor) writeFile(ctx context.Context, path, content string, ifMatch *string) error {
	_, err := metered(d, func(m client.CallOption) (client.WriteFileOut, error) {
		return d.client.WriteFile(ctx, client.WriteFileIn{Path: path, Content: content, IfMatch: ifMatch}, m)
	})
	return err
}

func (d restDoor) appendFile(ctx context.Context, path, text string) error {
	_, err := metered(d, func(m client.CallOption) (client.AppendFileOut, error) {
		return d.client.AppendFile(ctx, client.AppendFileIn{Path: path, Content: text}, m)
	})
	return err
}

func (d restDoor) acquireLock(ctx context.Context, name string, seconds int64) error {
	_, err := metered(d, func(m client.CallOption) (client.AcquireLockOut, error) {
		return d.client.AcquireLock(ctx, client.AcquireLockIn{Name: name, LeaseSeconds: seconds}, m)
	})
	return err
}

func (d restDoor) releaseLock(ctx context.Context, name string) error {
	_, err := metered(d, func(m client.CallOption) (client.ReleaseLockOut, error) {
		return d.client.ReleaseLock(ctx, client.ReleaseLockIn{Name: name}, m)
	})
	return err
}

func (d restDoor) sendMessage(ctx context.Context, to *string, topic, body string) error {
	_, err := metered(d, func(m client.CallOption) (client.SendMessageOut, error) {
		return d.client.SendMessage(ctx, client.SendMessageIn{ToSubkeyID: to, Topic: &topic, Body: body}, m)
	})
	return err
}

func (d restDoor) getMessages(ctx context.Context, topic string, since *time.Time) ([]client.MessageOut, error) {
	return metered(d, func(m client.CallOption) ([]client.MessageOut, error) {
		return d.client.GetMessages(ctx, client.GetMessagesIn{Topic: &topic, Since: since}, m)
	})
}

func (d restDoor) listLocks(ctx context.Context) ([]client.HeldLockOut, error) {
	return metered(d, func(m client.CallOption) ([]client.HeldLockOut, error) {
		return d.client.ListLocks(ctx, client.ListLocksIn{}, m)
	})
}

func (restDoor) close() error { return nil } // the client has nothing to close
