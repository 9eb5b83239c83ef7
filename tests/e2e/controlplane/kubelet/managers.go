package main

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"sync"
	"time"
	"unsafe"

	cadvisorapi "github.com/google/cadvisor/info/v1"
	"google.golang.org/grpc"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
	defaults "k8s.io/kubernetes/pkg/apis/core/v1"
	kubeletconfig "k8s.io/kubernetes/pkg/kubelet/apis/config"
	"k8s.io/kubernetes/pkg/kubelet/cm/containermap"
	"k8s.io/kubernetes/pkg/kubelet/cm/cpumanager"
	"k8s.io/kubernetes/pkg/kubelet/cm/devicemanager"
	"k8s.io/kubernetes/pkg/kubelet/cm/memorymanager"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager"
	"k8s.io/kubernetes/pkg/kubelet/lifecycle"
	"k8s.io/utils/cpuset"
)

// kubelet is the managers of one node, and the pods that it has admitted.
type kubelet struct {
	topology topologymanager.Manager
	cpu      cpumanager.Manager
	memory   memorymanager.Manager
	device   *devicemanager.ManagerImpl
	devices  []Device

	// The CPU manager asks for the pods from a goroutine of its own.
	mutex sync.Mutex
	pods  []*v1.Pod
}

// The exported constructor keeps its checkpoint in /var/lib/kubelet.
//
//go:linkname newDeviceManager k8s.io/kubernetes/pkg/kubelet/cm/devicemanager.newManagerImpl
func newDeviceManager(klog.Logger, string, []cadvisorapi.Node, topologymanager.Store) (*devicemanager.ManagerImpl, error)

func newKubelet(node Node, folder string) (*kubelet, error) {
	let := &kubelet{devices: node.Devices}
	logger, ctx := klog.TODO(), context.Background()
	machine := machineOf(node)
	reserved, err := cpuset.Parse(node.ReservedCPUs)
	if err != nil {
		return nil, err
	}
	reservation := v1.ResourceList{v1.ResourceCPU: *resource.NewQuantity(int64(reserved.Size()), resource.DecimalSI)}
	var reservedMemory []kubeletconfig.MemoryReservation
	for zone, limits := range node.ReservedMemory {
		list := v1.ResourceList{}
		for name, text := range limits {
			quantity := resource.MustParse(text)
			list[name] = quantity
			total := reservation[name]
			total.Add(quantity)
			reservation[name] = total
		}
		reservedMemory = append(reservedMemory, kubeletconfig.MemoryReservation{NumaNode: int32(zone), Limits: list})
	}

	let.topology, err = topologymanager.NewManager(machine.Topology, node.TopologyPolicy, node.TopologyScope, node.TopologyOptions)
	if err != nil {
		return nil, err
	}
	let.device, err = newDeviceManager(logger, filepath.Join(folder, "kubelet.sock"), machine.Topology, let.topology)
	if err != nil {
		return nil, err
	}
	let.cpu, err = cpumanager.NewManager(logger, node.CPUPolicy, node.CPUOptions, math.MaxInt64/2*time.Nanosecond, machine, reserved, reservation, folder, let.topology)
	if err != nil {
		return nil, err
	}
	let.memory, err = memorymanager.NewManager(logger, node.MemoryPolicy, machine, reservation, reservedMemory, folder, let.topology)
	if err != nil {
		return nil, err
	}
	let.topology.AddHintProvider(logger, let.device)
	let.topology.AddHintProvider(logger, let.cpu)
	let.topology.AddHintProvider(logger, let.memory)

	if err := let.startDevices(ctx); err != nil {
		return nil, err
	}
	if err := let.cpu.Start(ctx, let.active, ready{}, ready{}, nil, containermap.NewContainerMap()); err != nil {
		return nil, err
	}
	if err := let.memory.Start(ctx, let.active, ready{}, ready{}, nil, containermap.NewContainerMap()); err != nil {
		return nil, err
	}
	return let, nil
}

// machineOf is the node as cAdvisor reports it.
func machineOf(node Node) *cadvisorapi.MachineInfo {
	machine := &cadvisorapi.MachineInfo{}
	sockets := sets.New[int]()
	for _, zone := range node.Zones {
		described := cadvisorapi.Node{Id: zone.ID, Memory: zone.Memory, Distances: zone.Distances}
		for size, pages := range zone.HugePages {
			described.HugePages = append(described.HugePages, cadvisorapi.HugePagesInfo{PageSize: size, NumPages: pages})
		}
		for number, threads := range zone.Cores {
			described.Cores = append(described.Cores, cadvisorapi.Core{Id: number, Threads: threads, SocketID: zone.Socket})
			machine.NumCores += len(threads)
			machine.NumPhysicalCores++
			sockets.Insert(zone.Socket)
		}
		machine.Topology = append(machine.Topology, described)
	}
	machine.NumSockets = sockets.Len()
	return machine
}

// startDevices registers a device plugin for each resource, and tells the device manager which pods
// are active: its Start would do it, and listen on a socket beside.
func (k *kubelet) startDevices(ctx context.Context) error {
	field := reflect.ValueOf(k.device).Elem().FieldByName("activePods")
	field = reflect.NewAt(field.Type(), unsafe.Pointer(field.UnsafeAddr())).Elem()
	field.Set(reflect.ValueOf(devicemanager.ActivePodsFunc(k.active)))
	for _, each := range k.devices {
		if err := k.device.PluginConnected(ctx, each.Resource, plugin{resource: each.Resource}); err != nil {
			return err
		}
	}
	k.listDevices()
	return nil
}

// listDevices is what the device plugins send when they start and when the health of a device changes.
func (k *kubelet) listDevices() {
	lists := map[string][]*pluginapi.Device{}
	for _, each := range k.devices {
		device := &pluginapi.Device{ID: each.ID, Health: pluginapi.Healthy}
		if each.Broken {
			device.Health = pluginapi.Unhealthy
		}
		if len(each.Zones) > 0 {
			device.Topology = &pluginapi.TopologyInfo{}
			for _, zone := range each.Zones {
				device.Topology.Nodes = append(device.Topology.Nodes, &pluginapi.NUMANode{ID: zone})
			}
		}
		lists[each.Resource] = append(lists[each.Resource], device)
	}
	for name, list := range lists {
		k.device.PluginListAndWatchReceiver(klog.TODO(), name, &pluginapi.ListAndWatchResponse{Devices: list})
	}
}

func (k *kubelet) active() []*v1.Pod {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	return slices.Clone(k.pods)
}

// admit asks the topology manager, as kubelet does once the API server has set the pod's defaults.
func (k *kubelet) admit(pod *v1.Pod) lifecycle.PodAdmitResult {
	defaults.SetObjectDefaults_Pod(pod)
	k.mutex.Lock()
	k.pods = append(k.pods, pod)
	k.mutex.Unlock()
	result := k.topology.Admit(&lifecycle.PodAdmitAttributes{Pod: pod})
	if !result.Admit {
		k.remove(string(pod.UID))
	}
	return result
}

// start starts every container of a pod, one after the other, as the init containers before it ended.
func (k *kubelet) start(uid string) {
	for _, pod := range k.active() {
		if string(pod.UID) != uid {
			continue
		}
		for number, container := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
			id := uid + "/" + strconv.Itoa(number)
			k.cpu.AddContainer(klog.TODO(), pod, &container, id)
			k.memory.AddContainer(klog.TODO(), pod, &container, id)
			k.topology.AddContainer(pod, &container, id)
		}
	}
}

func (k *kubelet) remove(uid string) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	k.pods = slices.DeleteFunc(k.pods, func(pod *v1.Pod) bool { return string(pod.UID) == uid })
}

func (k *kubelet) breakDevice(id string) {
	for number := range k.devices {
		if k.devices[number].ID == id {
			k.devices[number].Broken = true
		}
	}
	k.listDevices()
}

// report lists what pkg/kubelet/apis/podresources/server_v1.go does: init containers that end are not
// listed.
func (k *kubelet) report() Report {
	// Whatever a pod that left still holds is freed first, as by kubelet's next look.
	probe := &v1.Pod{}
	k.cpu.GetPodTopologyHints(probe)
	k.memory.GetPodTopologyHints(probe)
	k.device.UpdateAllocatedDevices()
	answer := Report{CPUs: k.cpu.GetAllocatableCPUs().List()}
	for _, block := range k.memory.GetAllocatableMemory() {
		answer.Memory = append(answer.Memory, Memory{Type: string(block.Type), Size: block.Size, Zones: block.NUMAAffinity})
	}
	answer.Devices = listed(k.device.GetAllocatableDevices())
	for _, pod := range k.active() {
		each := PodReport{UID: string(pod.UID)}
		for number, container := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
			if number < len(pod.Spec.InitContainers) && !podutil.IsRestartableInitContainer(&container) {
				continue
			}
			each.CPUs = append(each.CPUs, k.cpu.GetExclusiveCPUs(each.UID, container.Name).List()...)
			each.Devices = append(each.Devices, listed(k.device.GetDevices(each.UID, container.Name))...)
			for _, block := range k.memory.GetMemory(each.UID, container.Name) {
				each.Memory = append(each.Memory, Memory{Type: string(block.Type), Size: block.Size, Zones: block.NUMAAffinity})
			}
		}
		answer.Pods = append(answer.Pods, each)
	}
	return answer
}

func listed(instances devicemanager.ResourceDeviceInstances) []Device {
	var answer []Device
	for name, devices := range instances {
		for id, device := range devices {
			each := Device{Resource: name, ID: id}
			for _, node := range device.GetTopology().GetNodes() {
				each.Zones = append(each.Zones, node.GetID())
			}
			answer = append(answer, each)
		}
	}
	return answer
}

// ready says that all sources of pods are there, and that no container has a status yet.
type ready struct{}

func (ready) AddSource(string) {}
func (ready) AllReady() bool   { return true }
func (ready) GetPodStatus(types.UID) (v1.PodStatus, bool) {
	return v1.PodStatus{}, false
}

// plugin is a device plugin that gives what it is asked for, and prefers nothing.
type plugin struct {
	pluginapi.DevicePluginClient
	resource string
}

func (p plugin) API() pluginapi.DevicePluginClient { return p }
func (p plugin) Resource() string                  { return p.resource }
func (p plugin) SocketPath() string                { return "" }

func (p plugin) GetDevicePluginOptions(context.Context, *pluginapi.Empty, ...grpc.CallOption) (*pluginapi.DevicePluginOptions, error) {
	return &pluginapi.DevicePluginOptions{}, nil
}

func (p plugin) Allocate(_ context.Context, asked *pluginapi.AllocateRequest, _ ...grpc.CallOption) (*pluginapi.AllocateResponse, error) {
	if len(asked.ContainerRequests) != 1 {
		return nil, fmt.Errorf("%d containers asked for %s at once", len(asked.ContainerRequests), p.resource)
	}
	return &pluginapi.AllocateResponse{ContainerResponses: []*pluginapi.ContainerAllocateResponse{{}}}, nil
}
