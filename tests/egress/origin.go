// SPDX-License-Identifier: MIT
// An origin for tests: notes each request that it was sent whole. Arguments: LOG [CERT KEY]. Its port
// is the first line of its output.
package main

import (
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"sync"
)

func main() {
	var lock sync.Mutex
	notes, err := os.OpenFile(os.Args[1], os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		panic(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, "bad body", http.StatusBadRequest)
			return
		}
		lock.Lock()
		fmt.Fprintf(notes, "%s %s %s %x\n", r.Method, r.Host, r.URL.Path, body)
		lock.Unlock()
		io.WriteString(w, "ok")
	})
	server := &http.Server{Handler: handler, ErrorLog: log.New(io.Discard, "", 0)}
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	if len(os.Args) > 3 {
		err = server.ServeTLS(listener, os.Args[2], os.Args[3])
	} else {
		err = server.Serve(listener)
	}
	panic(err)
}
