// Command kubelet answers whether the real managers of kubelet would admit a pod.
//
// It reads one case a line from stdin and writes one answer a line to stdout. A case has a node, what
// happened on it so far, and a pod. Everything that decides is kubelet's own code: the topology, CPU,
// memory and device managers, wired as pkg/kubelet/cm/container_manager_linux.go does. The answer also
// has what kubelet's PodResources API would tell of the node before the pod came.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
)

func main() {
	klog.SetLogger(logr.Discard())
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(make([]byte, 1<<20), 1<<26)
	out := bufio.NewWriter(os.Stdout)
	for lines.Scan() {
		answer, err := judge(lines.Bytes())
		if err != nil {
			answer = Answer{Error: err.Error()}
		}
		text, err := json.Marshal(answer)
		if err != nil {
			fail(err)
		}
		if _, err := fmt.Fprintf(out, "%s\n", text); err != nil {
			fail(err)
		}
		// The other end may wait for this answer before it asks again.
		if err := out.Flush(); err != nil {
			fail(err)
		}
	}
	if err := lines.Err(); err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// judge replays one case on a fresh kubelet.
func judge(line []byte) (answer Answer, err error) {
	// A kubelet that panics restarts; the case is reported as an error, and never as an answer.
	defer func() {
		if caught := recover(); caught != nil {
			err = fmt.Errorf("kubelet panics: %v", caught)
		}
	}()
	var given Case
	if err := json.Unmarshal(line, &given); err != nil {
		return Answer{}, err
	}
	folder, err := os.MkdirTemp("", "kubelet-")
	if err != nil {
		return Answer{}, err
	}
	defer os.RemoveAll(folder)
	let, err := newKubelet(given.Node, folder)
	if err != nil {
		return Answer{}, err
	}
	for _, event := range given.Events {
		if event.Admit != nil {
			result := let.admit(event.Admit)
			answer.History = append(answer.History, result.Admit)
		}
		if event.Start != "" {
			let.start(event.Start)
		}
		if event.Remove != "" {
			let.remove(event.Remove)
		}
		if event.Break != "" {
			let.breakDevice(event.Break)
		}
	}
	answer.Report = let.report()
	result := let.admit(given.Pod)
	answer.Admit, answer.Reason, answer.Message = result.Admit, result.Reason, result.Message
	return answer, nil
}
