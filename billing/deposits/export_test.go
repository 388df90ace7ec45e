package deposits

// At tells f of every step that a payment takes, on the payment's own goroutine. Set it before the first payment.
func (e *Engine) At(f func(step string)) { e.at = f }
