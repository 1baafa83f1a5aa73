package config

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"reflect"
)

// Hash identifies the effective policy: the SHA-256, in hexadecimal, of its canonical JSON. Comments, the order of keys
// and defaults that are written out do not change it; every setting that differs does.
func (p *Policy) Hash() string {
	// Keys are sorted by encoding/json, and nothing in a policy is beyond JSON, so that this cannot fail.
	data, err := json.Marshal(canonical(policyShape(), reflect.ValueOf(p).Elem()))
	if err != nil {
		panic("config: hashing a policy: " + err.Error())
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// canonical turns a value into maps, lists and scalars under the keys of the file. Empty lists and maps are the same as
// absent ones, except where the type tells them apart by a pointer.
func canonical(s *shape, v reflect.Value) any {
	if s.ptr {
		if v.IsNil() {
			return nil
		}
		v = v.Elem()
	}
	switch s.kind {
	case kindSection:
		m := make(map[string]any, len(s.fields))
		for _, f := range s.fields {
			m[f.name] = canonical(f.shape, v.Field(f.index))
		}
		return m
	case kindList:
		list := make([]any, v.Len())
		for i := range list {
			list[i] = canonical(s.elem, v.Index(i))
		}
		return list
	case kindMap:
		m := make(map[string]any, v.Len())
		for it := v.MapRange(); it.Next(); {
			m[it.Key().String()] = canonical(s.elem, it.Value())
		}
		return m
	case kindChoice:
		// A key that is absent counts as the least it may be: that is what such a setting means.
		m := make(map[string]any, len(s.fields))
		for _, f := range s.fields {
			m[f.name] = f.shape.rule.min
			if item := v.MapIndex(reflect.ValueOf(f.name).Convert(s.typ.Key())); item.IsValid() {
				m[f.name] = item.Int()
			}
		}
		return m
	case kindDuration:
		return Duration(v.Int()).String()
	case kindString:
		return v.String()
	default:
		return v.Interface()
	}
}
