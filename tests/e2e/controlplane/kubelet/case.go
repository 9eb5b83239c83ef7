package main

import v1 "k8s.io/api/core/v1"

// Case is one line of the input.
type Case struct {
	Node   Node    `json:"node"`
	Events []Event `json:"events"`
	Pod    *v1.Pod `json:"pod"`
}

// Node is a machine and the configuration of its kubelet.
type Node struct {
	Zones           []Zone                             `json:"zones"`
	Devices         []Device                           `json:"devices"`
	TopologyPolicy  string                             `json:"topologyPolicy"`
	TopologyScope   string                             `json:"topologyScope"`
	TopologyOptions map[string]string                  `json:"topologyOptions"`
	CPUPolicy       string                             `json:"cpuPolicy"`
	CPUOptions      map[string]string                  `json:"cpuOptions"`
	ReservedCPUs    string                             `json:"reservedCpus"`
	MemoryPolicy    string                             `json:"memoryPolicy"`
	ReservedMemory  map[int]map[v1.ResourceName]string `json:"reservedMemory"`
}

// Zone is a NUMA node; each core lists the CPUs that are its threads, HugePages counts the pages of
// each size (KiB).
type Zone struct {
	ID        int               `json:"id"`
	Socket    int               `json:"socket"`
	Cores     [][]int           `json:"cores"`
	Memory    uint64            `json:"memory"`
	HugePages map[uint64]uint64 `json:"hugePages"`
	Distances []uint64          `json:"distances"`
}

// Device is one of a device plugin, near some zones or none.
type Device struct {
	Resource string  `json:"resource"`
	ID       string  `json:"id"`
	Zones    []int64 `json:"zones"`
	Broken   bool    `json:"broken"`
}

// Event is what happened: a pod came, its containers started (and its init containers had ended), a
// pod left, a device broke. Pods are named by their UID, devices by their ID.
type Event struct {
	Admit  *v1.Pod `json:"admit"`
	Start  string  `json:"start"`
	Remove string  `json:"remove"`
	Break  string  `json:"break"`
}

// Answer is one line of the output. History has the verdict of each pod that came before.
type Answer struct {
	Admit   bool   `json:"admit"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
	History []bool `json:"history"`
	Report  Report `json:"report"`
	Error   string `json:"error"`
}

// Report is what the PodResources API tells: GetAllocatableResources, and List of the active pods.
type Report struct {
	CPUs    []int       `json:"cpus"`
	Memory  []Memory    `json:"memory"`
	Devices []Device    `json:"devices"`
	Pods    []PodReport `json:"pods"`
}

// Memory is a block of memory or huge pages on some zones together.
type Memory struct {
	Type  string `json:"type"`
	Size  uint64 `json:"size"`
	Zones []int  `json:"zones"`
}

// PodReport is what the listed containers of one pod hold, added up.
type PodReport struct {
	UID     string   `json:"uid"`
	CPUs    []int    `json:"cpus"`
	Memory  []Memory `json:"memory"`
	Devices []Device `json:"devices"`
}
