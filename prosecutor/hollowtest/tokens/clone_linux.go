package tokens

import (
	"os"

	"golang.org/x/sys/unix"
)

// clone makes out share the blocks of in, where the file system can.
func clone(in, out *os.File) error { return unix.IoctlFileClone(int(out.Fd()), int(in.Fd())) }
