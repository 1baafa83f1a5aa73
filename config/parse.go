package config

import (
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
)

// ParsePolicy reads a policy on top of DefaultPolicy. The name stands in front of every problem. An empty file is the
// default policy. The error is Problems, all of them at once; the policy is nil then.
func ParsePolicy(name string, data []byte) (*Policy, error) {
	policy := DefaultPolicy()
	r := newReport(name)
	d := decode(r, data, policyShape(), reflect.ValueOf(policy).Elem(), false)
	checkPolicy(policy, d)
	if err := r.err(); err != nil {
		return nil, err
	}
	return policy, nil
}

// ParseServer reads a server file and fills in the defaults of each judge. The name stands in front of every problem. An
// empty file configures no judge. The error is Problems, all of them at once, and holds no value of the file, so that a
// key that stands in it by mistake does not reach a log; the server is nil then.
func ParseServer(name string, data []byte) (*Server, error) {
	server := DefaultServer()
	r := newReport(name)
	d := decode(r, data, serverShape(), reflect.ValueOf(server).Elem(), true)
	checkServer(server, d)
	if err := r.err(); err != nil {
		return nil, err
	}
	for i, j := range server.Judges {
		server.Judges[i] = j.WithDefaults()
	}
	return server, nil
}

// LoadPolicy reads the policy in a file of this machine. A file that cannot be read is an error of the file system, a
// file that is wrong is Problems.
func LoadPolicy(path string) (*Policy, error) {
	data, err := ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading the policy: %w", err)
	}
	return ParsePolicy(path, data)
}

// LoadServer reads the server file. A file that cannot be read is an error of the file system, a file that is wrong is
// Problems.
func LoadServer(path string) (*Server, error) {
	data, err := ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading the server file: %w", err)
	}
	return ParseServer(path, data)
}

// ReadFile reads a file for ParsePolicy or ParseServer, and no more of it than it takes to know that it is too large.
func ReadFile(path string) (data []byte, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return io.ReadAll(io.LimitReader(f, MaxFileSize+1))
}

// decode reads a file by its shape into v, which holds the defaults.
func decode(r *report, data []byte, s *shape, v reflect.Value, secret bool) *decoder {
	d := &decoder{report: r, root: s, secret: secret, places: map[string]place{}}
	if root := parseYAML(r, data, secret); root != nil {
		d.section(root, s, v, "", nodePlace(root))
	}
	return d
}

// checkPolicy reports settings that are valid one by one and make no sense together.
func checkPolicy(p *Policy, d *decoder) {
	if p.HollowTest.Mode == HollowOff && p.HollowTest.Required {
		d.report.add(d.places["hollow_test.required"], Problem{Key: "hollow_test.required",
			Message: "a measurement cannot be required while hollow_test.mode is off", Allowed: "false, or another mode"})
	}
}
