// Reads EnvoyGateway configurations as Envoy Gateway does, except that fields it does not know are errors.
package main

import (
	"errors"
	"fmt"
	"os"

	egv1a1 "github.com/envoyproxy/gateway/api/v1alpha1"
	"github.com/envoyproxy/gateway/api/v1alpha1/validation"
	"sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

func main() {
	isBad := false
	for _, file := range os.Args[1:] {
		if err := check(file); err != nil {
			isBad = true
			fmt.Fprintf(os.Stderr, "%s: %v\n", file, err)
		}
	}
	if isBad {
		os.Exit(1)
	}
}

func check(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	asJSON, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		return err
	}
	config := &egv1a1.EnvoyGateway{}
	unknown, err := json.UnmarshalStrict(asJSON, config)
	if err := errors.Join(append(unknown, err)...); err != nil {
		return err
	}
	config.SetEnvoyGatewayDefaults()
	return validation.ValidateEnvoyGateway(config)
}
