package apitest

import "sync"

// Together runs n functions at once, as nearly as can be, and waits for all.
func Together(n int, run func(i int)) {
	start := make(chan struct{})
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			<-start
			run(i)
		})
	}
	close(start)
	all.Wait()
}
