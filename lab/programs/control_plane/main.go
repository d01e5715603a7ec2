// The control plane of Kubernetes as one program: kubernetes apiserver|controller-manager|scheduler FLAGS.
// Kubernetes' own commands cannot be installed by their names, because their module replaces others; go.mod does the same.
package main

import (
	"os"

	_ "time/tzdata"

	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllers "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

func main() {
	parts := map[string]func() *cobra.Command{
		"apiserver":          apiserver.NewAPIServerCommand,
		"controller-manager": controllers.NewControllerManagerCommand,
		"scheduler":          func() *cobra.Command { return scheduler.NewSchedulerCommand() },
	}
	if len(os.Args) < 2 || parts[os.Args[1]] == nil {
		os.Stderr.WriteString("kubernetes apiserver|controller-manager|scheduler FLAGS\n")
		os.Exit(2)
	}
	part := parts[os.Args[1]]()
	os.Args = os.Args[1:]
	os.Exit(cli.Run(part))
}
