// Reads dashboards as strictly as Grafana's own types are: every field is known, and those that must be
// there are, down to the options and queries of each panel.
package main

import (
	"fmt"
	"os"

	"github.com/grafana/grafana-foundation-sdk/go/cog/plugins"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

func main() {
	plugins.RegisterDefaultPlugins()
	for _, name := range os.Args[1:] {
		text, err := os.ReadFile(name)
		var read dashboard.Dashboard
		if err == nil {
			err = read.UnmarshalJSONStrict(text)
		}
		// The library returns an empty list of errors where there is none.
		if err != nil && err.Error() != "" {
			fmt.Printf("%s: %v\n", name, err)
			os.Exit(1)
		}
	}
}
