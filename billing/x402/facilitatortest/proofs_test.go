package facilitatortest

import "testing"

// One signature in 256 begins with a zero byte, which base58 writes as a "1" of its own.
func TestBase58KeepsLeadingZeros(t *testing.T) {
	for _, c := range []struct {
		bytes []byte
		want  string
	}{
		{[]byte{0, 0, 1}, "112"},
		{[]byte{0}, "1"},
		{[]byte{57, 255}, "5Qz"},
	} {
		if got := base58(c.bytes); got != c.want {
			t.Errorf("%v is %q, want %q", c.bytes, got, c.want)
		}
	}
}
