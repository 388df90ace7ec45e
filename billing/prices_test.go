package billing

import "testing"

func TestStartedKiB(t *testing.T) {
	write := PriceOf("write_file")
	for _, c := range []struct {
		bytes int
		want  Units
	}{
		{0, 8}, {1, 10}, {1023, 10}, {1024, 10}, {1025, 12}, {2048, 12}, {2049, 14}, {1 << 20, 8 + 2*1024},
	} {
		if got := write.For(c.bytes); got != c.want {
			t.Errorf("writing %d bytes costs %d units, want %d", c.bytes, got, c.want)
		}
	}
	if got := PriceOf("read_file").For(1 << 20); got != 1 {
		t.Errorf("a read costs %d units whatever its size, want 1", got)
	}
}

func TestPricesThatWereAnnounced(t *testing.T) {
	priced := map[string]Price{
		"read_file": {1, 0}, "write_file": {8, 2}, "append_file": {8, 2}, "delete_file": {1, 0},
		"acquire_lock": {5, 0}, "renew_lock": {2, 0}, "get_lock_status": {1, 0}, "list_locks": {1, 0},
		"send_message": {3, 0}, "get_messages": {1, 0}, "wait": {1, 0},
	}
	for operation, price := range Prices {
		if price != priced[operation] {
			t.Errorf("%s costs %+v, want %+v", operation, price, priced[operation])
		}
		delete(priced, operation)
	}
	for operation := range priced {
		t.Errorf("%s is not in the table", operation)
	}
	if WebhookAttempt != 2 {
		t.Errorf("a delivery attempt costs %d units, want 2", WebhookAttempt)
	}
	if got := RoundPrice(); got != 16 {
		t.Errorf("a round costs %d units, want 16", got)
	}
}

func TestAnUnknownOperationHasNoPrice(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a misspelt operation got a price")
		}
	}()
	PriceOf("wirte_file")
}
