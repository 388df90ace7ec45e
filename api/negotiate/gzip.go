package negotiate

import (
	"compress/gzip"
	"io"
	"sync"
)

// GzipLeast is the size in bytes from which compressing is worth its time.
const GzipLeast = 1 << 10

var writers = sync.Pool{New: func() any { return gzip.NewWriter(nil) }}

// Gzip compresses what is written into w, until Close.
type Gzip struct{ *gzip.Writer }

// NewGzip takes a compressor; Close gives it back.
func NewGzip(w io.Writer) Gzip {
	z := writers.Get().(*gzip.Writer)
	z.Reset(w)
	return Gzip{z}
}

// Close writes what is left. Nothing may be written afterwards.
func (z Gzip) Close() error {
	err := z.Writer.Close()
	z.Reset(nil)
	writers.Put(z.Writer)
	return err
}
