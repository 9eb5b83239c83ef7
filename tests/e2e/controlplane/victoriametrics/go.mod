// The cluster version of VictoriaMetrics; the module proxy has few of its tags.
module rescheduler.test/victoriametrics

go 1.26.0

tool (
	github.com/VictoriaMetrics/VictoriaMetrics/app/vminsert
	github.com/VictoriaMetrics/VictoriaMetrics/app/vmselect
	github.com/VictoriaMetrics/VictoriaMetrics/app/vmstorage
)

require github.com/VictoriaMetrics/VictoriaMetrics v1.100.0-cluster

require (
	github.com/VictoriaMetrics/easyproto v0.1.4 // indirect
	github.com/VictoriaMetrics/fastcache v1.12.2 // indirect
	github.com/VictoriaMetrics/metrics v1.33.1 // indirect
	github.com/VictoriaMetrics/metricsql v0.75.1 // indirect
	github.com/cespare/xxhash/v2 v2.2.0 // indirect
	github.com/golang/snappy v0.0.4 // indirect
	github.com/klauspost/compress v1.17.7 // indirect
	github.com/valyala/bytebufferpool v1.0.0 // indirect
	github.com/valyala/fastjson v1.6.4 // indirect
	github.com/valyala/fastrand v1.1.0 // indirect
	github.com/valyala/fasttemplate v1.2.2 // indirect
	github.com/valyala/gozstd v1.20.1 // indirect
	github.com/valyala/histogram v1.2.0 // indirect
	github.com/valyala/quicktemplate v1.7.0 // indirect
	golang.org/x/sys v0.18.0 // indirect
	gopkg.in/yaml.v2 v2.4.0 // indirect
)
