// A client by grpc-go that mixes calls of every kind on shared connections, and counts those that ended as they should.
//
// Reads its work from standard input, and writes its counts to standard output, as test/clients/foreign-client.ts says.
package main

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
)

const (
	shouldRateLimit = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit"
	check           = "/grpc.health.v1.Health/Check"
	watch           = "/grpc.health.v1.Health/Watch"
	reflection      = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo"
	unknown         = "/no.such.Service/Method"
)

// For calls that nothing ought to delay.
const patience = 30 * time.Second

type work struct {
	Target   string            `json:"target"`
	Channels int               `json:"channels"`
	Workers  int               `json:"workers"`
	Calls    int               `json:"calls"`
	Messages map[string]string `json:"messages"`
}

type count struct {
	Right int      `json:"right"`
	Wrong []string `json:"wrong"`
}

// Messages are bytes here: what they mean is the test's.
type bytesCodec struct{}

func (bytesCodec) Name() string { return "proto" }

func (bytesCodec) Marshal(message any) ([]byte, error) { return *message.(*[]byte), nil }

func (bytesCodec) Unmarshal(data []byte, message any) error {
	*message.(*[]byte) = append([]byte(nil), data...)
	return nil
}

type client struct {
	channel  *grpc.ClientConn
	messages map[string][]byte
}

func (c client) unary(method string, message string, timeout time.Duration) (codes.Code, int) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	request, response := c.messages[message], []byte{}
	err := c.channel.Invoke(ctx, method, &request, &response)
	return status.Code(err), len(response)
}

// The first message of a stream that is then given up.
func (c client) firstOf(method string, message string) (codes.Code, int) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	stream, err := c.channel.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, method)
	if err != nil {
		return status.Code(err), 0
	}
	request, response := c.messages[message], []byte{}
	if err := stream.SendMsg(&request); err != nil {
		return status.Code(err), 0
	}
	// A server that streams answers once it has all of the request.
	if method == watch {
		if err := stream.CloseSend(); err != nil {
			return status.Code(err), 0
		}
	}
	if err := stream.RecvMsg(&response); err != nil {
		return status.Code(err), 0
	}
	cancel()
	ended := []byte{}
	return status.Code(stream.RecvMsg(&ended)), len(response)
}

func (c client) cancelled() codes.Code {
	ctx, cancel := context.WithCancel(context.Background())
	timer := time.AfterFunc(5*time.Millisecond, cancel)
	defer timer.Stop()
	request, response := c.messages["slow"], []byte{}
	return status.Code(c.channel.Invoke(ctx, shouldRateLimit, &request, &response))
}

// One call of the kind; what is wrong with how it ended, or nothing.
func (c client) call(kind string) string {
	code, size, wanted, isEmpty := codes.OK, 0, codes.OK, false
	switch kind {
	case "decide":
		code, size = c.unary(shouldRateLimit, "decide", patience)
	case "large":
		code, size = c.unary(shouldRateLimit, "large", patience)
	case "check":
		code, size = c.unary(check, "empty", patience)
	case "unknown":
		code, size = c.unary(unknown, "empty", patience)
		wanted, isEmpty = codes.Unimplemented, true
	case "deadline":
		code, size = c.unary(shouldRateLimit, "slow", 20*time.Millisecond)
		wanted, isEmpty = codes.DeadlineExceeded, true
	case "cancel":
		code = c.cancelled()
		wanted, isEmpty = codes.Canceled, true
	case "watch":
		code, size = c.firstOf(watch, "empty")
		wanted = codes.Canceled
	case "reflection":
		code, size = c.firstOf(reflection, "list")
		wanted = codes.Canceled
	}
	if code != wanted || (size == 0) != isEmpty {
		return fmt.Sprintf("%s, %d bytes", code, size)
	}
	return ""
}

var kinds = []string{"decide", "check", "decide", "unknown", "decide", "deadline", "decide", "cancel", "decide", "watch", "decide", "reflection", "decide", "large"}

func main() {
	var todo work
	if err := json.NewDecoder(os.Stdin).Decode(&todo); err != nil {
		panic(err)
	}
	messages := map[string][]byte{}
	for name, text := range todo.Messages {
		bytes, err := hex.DecodeString(text)
		if err != nil {
			panic(err)
		}
		messages[name] = bytes
	}
	counts := map[string]*count{}
	var lock sync.Mutex
	var running sync.WaitGroup
	for range todo.Channels {
		channel, err := grpc.NewClient(todo.Target, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultCallOptions(grpc.ForceCodec(bytesCodec{})))
		if err != nil {
			panic(err)
		}
		defer channel.Close()
		for worker := range todo.Workers {
			running.Add(1)
			go func() {
				defer running.Done()
				for n := range todo.Calls {
					kind := kinds[(n+worker)%len(kinds)]
					wrong := client{channel, messages}.call(kind)
					lock.Lock()
					if counts[kind] == nil {
						counts[kind] = &count{Wrong: []string{}}
					}
					if wrong == "" {
						counts[kind].Right++
					} else {
						counts[kind].Wrong = append(counts[kind].Wrong, wrong)
					}
					lock.Unlock()
				}
			}()
		}
	}
	running.Wait()
	if err := json.NewEncoder(os.Stdout).Encode(counts); err != nil {
		panic(err)
	}
}
