package client

import (
	"context"
	"errors"
	"iter"
)

// Entries gives the names in a directory, in byte order, page by page: 1 unit for a thousand. Directories end with "/".
func (c *Client) Entries(ctx context.Context, path string, options ...CallOption) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		in := ReadFileIn{Path: path}
		for {
			page, err := c.ReadFile(ctx, in, options...)
			if err == nil && !page.IsDir {
				err = errors.New("client: " + path + " is a file and no directory")
			}
			if err != nil {
				yield("", err)
				return
			}
			for _, name := range page.Entries {
				if !yield(name, nil) {
					return
				}
			}
			if page.NextAfter == nil {
				return
			}
			in.After = page.NextAfter
		}
	}
}

// HeldLocks gives the locks that are held now, within the key's scope, by name: 1 unit for a thousand.
func (c *Client) HeldLocks(ctx context.Context) iter.Seq2[HeldLockOut, error] {
	in := ListLocksIn{Limit: 1000}
	return pages(int(in.Limit), func(last *HeldLockOut) ([]HeldLockOut, error) {
		if last != nil {
			in.After = &last.Name
		}
		return c.ListLocks(ctx, in)
	})
}

// Activity gives the log, newest first, from in.BeforeSeq back to in.Since or to the first row. in.Limit is the size of a
// page, not of the whole.
func (c *Client) Activity(ctx context.Context, in GetActivityIn) iter.Seq2[ActivityOut, error] {
	if in.Limit == 0 {
		in.Limit = 500
	}
	return pages(int(in.Limit), func(last *ActivityOut) ([]ActivityOut, error) {
		if last != nil {
			in.BeforeSeq = &last.Seq
		}
		return c.GetActivity(ctx, in)
	})
}

// pages gives the items of page after page, each read with the last item of the one before. A page that is not full is the
// last.
func pages[T any](full int, read func(last *T) ([]T, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var last *T
		for {
			page, err := read(last)
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			for i := range page {
				if !yield(page[i], nil) {
					return
				}
			}
			if len(page) < full {
				return
			}
			last = &page[len(page)-1]
		}
	}
}
