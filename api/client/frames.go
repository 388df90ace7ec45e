package client

import (
	"bufio"
	"io"
	"strings"
)

// frameBytesMax bounds one line of an event stream, and what is read of a refusal: an event has no text of its own.
const frameBytesMax = 1 << 20

// frame is one server-sent event: what stands before an empty line.
type frame struct{ id, event, data string }

// frames reads server-sent events.
type frames struct{ lines *bufio.Scanner }

func newFrames(r io.Reader) frames {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, 4096), frameBytesMax)
	return frames{lines}
}

// next reads one whole frame. One that is cut off is none.
func (f frames) next() (frame, error) {
	var out frame
	var data []string
	for f.lines.Scan() {
		line := f.lines.Text() // without a carriage return before the line's end
		if line == "" {
			if out == (frame{}) && data == nil { // only a comment, or nothing
				continue
			}
			out.data = strings.Join(data, "\n")
			return out, nil
		}
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch name {
		case "id":
			out.id = value
		case "event":
			out.event = value
		case "data":
			data = append(data, value)
		}
	}
	if err := f.lines.Err(); err != nil {
		return frame{}, err
	}
	return frame{}, io.ErrUnexpectedEOF
}
