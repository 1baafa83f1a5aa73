package process

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
)

// keeper kills the process groups of this process when it dies without having done so itself, by SIGKILL for instance: their
// leaders get a signal of their own then, where the system has one, but what the tests started in turn does not.
//
// It is a shell in a process group of its own that reads which groups there are, and kills those left at the end of the
// input, which comes with the end of this process however it ends. Nothing but numbers is written to it.
type keeper struct {
	mu    sync.Mutex
	input io.WriteCloser
}

// A group that is announced as ended was killed before its leader was waited for, so its number is not another's yet.
const keeperScript = `
groups=
while read -r op group; do
	if [ "$op" = + ]; then groups="$groups $group"; continue; fi
	left=
	for g in $groups; do [ "$g" = "$group" ] || left="$left $g"; done
	groups=$left
done
for g in $groups; do kill -s KILL -- "-$g" 2>/dev/null; done
`

// Kept returns a Plain whose processes do not outlive this one, with all that they start and that stays in their process
// group. What keeps it so ends with ctx.
func Kept(ctx context.Context) (Plain, error) {
	cmd := exec.Command("sh", "-c", keeperScript) //nolint:noctx // it must outlive everything else, and ends with its input
	cmd.Env = []string{}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a Ctrl-C is not for it
	input, err := cmd.StdinPipe()
	if err != nil {
		return Plain{}, fmt.Errorf("watching over processes: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return Plain{}, fmt.Errorf("watching over processes: %w", err)
	}
	k := &keeper{input: input}
	context.AfterFunc(ctx, func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		_ = input.Close() // it ends for this
		_ = cmd.Wait()    // however it ended
	})
	return Plain{keeper: k}, nil
}

// began and ended tell which groups there are. A keeper that is gone is no reason not to go on.
func (k *keeper) began(group int) { k.tell("+", group) }

func (k *keeper) ended(group int) { k.tell("-", group) }

func (k *keeper) tell(op string, group int) {
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	_, _ = io.WriteString(k.input, op+" "+strconv.Itoa(group)+"\n") // see above
}
