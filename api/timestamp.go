package api

import "time"

// timeLayout has a fixed number of fraction digits, so that the order of timestamps as strings is their order
// in time.
const timeLayout = "2006-01-02T15:04:05.000000Z"

const faultTime = "must be an RFC 3339 timestamp with a zone, such as 2026-11-30T12:00:00.000001Z or 2026-11-30T13:00:00+01:00, in the years 0001 to 9999"

// Time is an instant as both doors show it: UTC, exactly six fraction digits and Z.
type Time struct{ time.Time }

// String gives the form that users see.
func (t Time) String() string { return FormatTime(t.Time) }

// MarshalJSON gives the form that users see.
func (t Time) MarshalJSON() ([]byte, error) { return []byte(`"` + FormatTime(t.Time) + `"`), nil }

// MarshalText gives the form that users see.
func (t Time) MarshalText() ([]byte, error) { return []byte(FormatTime(t.Time)), nil }

// FormatTime gives an instant as users see it. Parts of a microsecond, which the database does not keep, are
// dropped.
func FormatTime(t time.Time) string { return t.UTC().Format(timeLayout) }

// ParseTime reads an RFC 3339 timestamp with a zone and gives it in UTC; fault is "" when that succeeds. T and
// Z may be in lower case; a space in place of the zone's plus sign, which is what decoding a query string
// makes of it, counts as the plus. Digits below a microsecond are dropped, so that a timestamp that was given
// out comes back as exactly itself. Leap seconds, 24:00 and everything outside the years 0001 to 9999 (in
// UTC) are faults, and so are words such as "now".
func ParseTime(s string) (t time.Time, fault string) {
	const zoneless = len("2006-01-02T15:04:05")
	if len(s) <= zoneless {
		return time.Time{}, faultTime
	}
	seconds, ok := parseDateTime(s[:zoneless])
	if !ok {
		return time.Time{}, faultTime
	}
	micros, zone, ok := parseFraction(s[zoneless:])
	if !ok {
		return time.Time{}, faultTime
	}
	offset, ok := parseZone(zone)
	if !ok {
		return time.Time{}, faultTime
	}
	t = time.Unix(seconds-offset, micros*1000).UTC()
	if t.Year() < 1 || t.Year() > 9999 {
		return time.Time{}, faultTime
	}
	return t, ""
}

// parseDateTime reads exactly 2006-01-02T15:04:05 and gives it as Unix seconds of UTC.
func parseDateTime(s string) (seconds int64, ok bool) {
	if s[4] != '-' || s[7] != '-' || s[10] != 'T' && s[10] != 't' || s[13] != ':' || s[16] != ':' {
		return 0, false
	}
	var parts [6]int
	for i, field := range []string{s[:4], s[5:7], s[8:10], s[11:13], s[14:16], s[17:]} {
		if parts[i], ok = parseTimeDigits(field); !ok {
			return 0, false
		}
	}
	year, month, day, hour, minute, second := parts[0], time.Month(parts[1]), parts[2], parts[3], parts[4], parts[5]
	if hour > 23 || minute > 59 || second > 59 {
		return 0, false
	}
	t := time.Date(year, month, day, hour, minute, second, 0, time.UTC)
	// time.Date turns June 31 into July 1; a date that does not exist is refused instead.
	return t.Unix(), t.Month() == month && t.Day() == day
}

// parseFraction reads an optional point with digits, and gives what follows it.
func parseFraction(s string) (micros int64, rest string, ok bool) {
	if s[0] != '.' {
		return 0, s, true
	}
	n := 1
	for n < len(s) && '0' <= s[n] && s[n] <= '9' {
		n++
	}
	if n < 2 || n == len(s) { // without a zone
		return 0, "", false
	}
	for i := 1; i <= 6; i++ {
		micros *= 10
		if i < n {
			micros += int64(s[i] - '0')
		}
	}
	return micros, s[n:], true
}

// parseZone reads Z or an offset such as +01:00, and gives the seconds east of UTC.
func parseZone(s string) (offset int64, ok bool) {
	if s == "Z" || s == "z" {
		return 0, true
	}
	if len(s) != len("+01:00") || s[3] != ':' {
		return 0, false
	}
	hours, hoursOK := parseTimeDigits(s[1:3])
	minutes, minutesOK := parseTimeDigits(s[4:])
	if !hoursOK || !minutesOK || hours > 23 || minutes > 59 {
		return 0, false
	}
	offset = int64(hours*60+minutes) * 60
	switch s[0] {
	case '+', ' ':
		return offset, true
	case '-':
		return -offset, true
	}
	return 0, false
}

// parseTimeDigits reads ASCII digits only; the caller has fixed their number.
func parseTimeDigits(s string) (n int, ok bool) {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
		n = n*10 + int(s[i]-'0')
	}
	return n, true
}
