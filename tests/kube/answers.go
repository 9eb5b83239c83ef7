// What Kubernetes' own code answers to the questions on standard input: see vectors.py.
package main

import (
	"encoding/json"
	"os"
	"sort"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	resourcehelper "k8s.io/component-helpers/resource"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	corev1defaults "k8s.io/kubernetes/pkg/apis/core/v1"
	quota "k8s.io/kubernetes/pkg/quota/v1/evaluator/core"
	"k8s.io/utils/clock"
)

type podCase struct {
	Pod v1.Pod `json:"pod"`
	// The pod as the API server stores it, then the sums of its spec alone, with its status, and
	// of its limits; and what a ResourceQuota counts for it while it has no status.
	Incoming v1.ResourceList `json:"-"`
	Running  v1.ResourceList `json:"-"`
	Limits   v1.ResourceList `json:"-"`
	Quota    v1.ResourceList `json:"-"`
	Scored   v1.ResourceList `json:"-"`
}

type taintCase struct {
	Toleration v1.Toleration `json:"toleration"`
	Taint      v1.Taint      `json:"taint"`
	Tolerates  bool          `json:"tolerates"`
}

type termCase struct {
	Own        string                `json:"own"`
	Term       v1.PodAffinityTerm    `json:"term"`
	Namespaces map[string]labels.Set `json:"namespaces"`
	Selected   []string              `json:"selected"`
}

type nodeCase struct {
	Spec     v1.PodSpec `json:"spec"`
	Nodes    []v1.Node  `json:"nodes"`
	Required []bool     `json:"required"`
	Score    []int64    `json:"score"`
}

type everything struct {
	Pods   []podCase   `json:"pods"`
	Taints []taintCase `json:"taints"`
	Terms  []termCase  `json:"terms"`
	Nodes  []nodeCase  `json:"nodes"`
}

// answers are the answers alone, in the order of the questions.
func (all *everything) answers() map[string][]any {
	answer := map[string][]any{"pods": {}, "taints": {}, "terms": {}, "nodes": {}}
	for _, c := range all.Pods {
		answer["pods"] = append(answer["pods"], map[string]any{
			"incoming": c.Incoming, "running": c.Running, "limits": c.Limits,
			"quota": c.Quota, "scored": c.Scored,
		})
	}
	for _, c := range all.Taints {
		answer["taints"] = append(answer["taints"], map[string]any{"tolerates": c.Tolerates})
	}
	for _, c := range all.Terms {
		answer["terms"] = append(answer["terms"], map[string]any{"selected": c.Selected})
	}
	for _, c := range all.Nodes {
		answer["nodes"] = append(answer["nodes"], map[string]any{"required": c.Required, "score": c.Score})
	}
	return answer
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func (c *podCase) answer() {
	stored := c.Pod.DeepCopy()
	corev1defaults.SetDefaults_Pod(stored)
	// A sum may share memory with the pod that it is of, so each is of its own copy.
	fresh := func() *v1.Pod {
		made := stored.DeepCopy()
		made.Status = v1.PodStatus{}
		return made
	}
	c.Incoming = resourcehelper.PodRequests(fresh(), resourcehelper.PodResourcesOptions{})
	c.Running = resourcehelper.PodRequests(stored.DeepCopy(), resourcehelper.PodResourcesOptions{
		UseStatusResources: true,
		InPlacePodLevelResourcesVerticalScalingEnabled: true,
	})
	c.Limits = resourcehelper.PodLimits(fresh(), resourcehelper.PodResourcesOptions{})
	c.Scored = resourcehelper.PodRequests(fresh(), resourcehelper.PodResourcesOptions{
		SkipPodLevelResources: true,
		NonMissingContainerRequests: v1.ResourceList{
			v1.ResourceCPU:    resource.MustParse("100m"),
			v1.ResourceMemory: resource.MustParse("200Mi"),
		},
	})
	used, err := quota.PodUsageFunc(fresh(), clock.RealClock{})
	must(err)
	c.Quota = used
}

func (c *termCase) answer() {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: c.Own}}
	terms, err := fwk.GetAffinityTerms(pod, []v1.PodAffinityTerm{c.Term})
	must(err)
	c.Selected = []string{}
	for name, set := range c.Namespaces {
		if terms[0].Namespaces.Has(name) || terms[0].NamespaceSelector.Matches(set) {
			c.Selected = append(c.Selected, name)
		}
	}
	sort.Strings(c.Selected)
}

func (c *nodeCase) answer() {
	pod := &v1.Pod{Spec: c.Spec}
	required := nodeaffinity.GetRequiredNodeAffinity(pod)
	var preferred *nodeaffinity.PreferredSchedulingTerms
	if c.Spec.Affinity != nil && c.Spec.Affinity.NodeAffinity != nil {
		terms, err := nodeaffinity.NewPreferredSchedulingTerms(
			c.Spec.Affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution)
		must(err)
		preferred = terms
	}
	for i := range c.Nodes {
		matches, _ := required.Match(&c.Nodes[i])
		c.Required = append(c.Required, matches)
		score := int64(0)
		if preferred != nil {
			score = preferred.Score(&c.Nodes[i])
		}
		c.Score = append(c.Score, score)
	}
}

func main() {
	var all everything
	must(json.NewDecoder(os.Stdin).Decode(&all))
	for i := range all.Pods {
		all.Pods[i].answer()
	}
	for i := range all.Taints {
		c := &all.Taints[i]
		c.Tolerates = c.Toleration.ToleratesTaint(klog.Background(), &c.Taint, false)
	}
	for i := range all.Terms {
		all.Terms[i].answer()
	}
	for i := range all.Nodes {
		all.Nodes[i].answer()
	}
	must(json.NewEncoder(os.Stdout).Encode(all.answers()))
}
