package jobs_test

import (
	"fmt"
	"testing"
	"time"

	"aanet/store/storetest"
)

// Answers kept for repeats go after a day; a repeat gets none of them.
func TestOldAnswersAreForgotten(t *testing.T) {
	t.Parallel()
	w := newWorld(t, true, time.Hour)
	n := w.paying()
	for i := range 4 {
		n.call(operation(t, "send_message"), map[string]any{"body": "x", "idempotency_key": fmt.Sprint(i)})
	}
	storetest.Exec(t, w.dsn, `update idempotency_keys set created_at = created_at - interval '24 hours' where once_key < '2'`)
	w.work()
	w.eventually(2, `select count(*) from idempotency_keys`)
}
