;; SPDX-License-Identifier: MIT
;; Decides about single accesses by a Seatbelt profile, as macOS does: the last rule that matches.
;; Profiles are read by a real Scheme, so a string that is not escaped right changes the answer or
;; stops the reader. Whatever this does not know is an error.
;;
;; guile evaluate.scm ask PROFILE QUESTION...   prints allow or deny for each, or fails
;; guile evaluate.scm agree <STREAM             compares with expected answers; tells the first
;;                                              difference, or how many answers agreed
;;
;; A question is OPERATION=SUBJECT. A stream has lines "profile BYTES", followed by so many bytes,
;; and "OPERATION SUBJECT-IN-HEX allow|deny", about the last profile.

(use-modules (ice-9 rdelim) (ice-9 textual-ports) (srfi srfi-1) (ice-9 match))

(define (fail . parts)
  (for-each (lambda (part) (display part (current-error-port))) parts)
  (newline (current-error-port))
  (exit 1))

;; A rule: #(allow? operations filters), the filters as in the text.
(define filters
  '(literal subpath sysctl-name sysctl-name-prefix global-name ipc-posix-name remote local target))
(define operations
  '(default file-read* file-map-executable process-exec* file-write* file-write-data
    file-write-create file-write-unlink process-fork process-info* signal ipc-posix-sem
    ipc-posix-shm-read-data sysctl-read mach-lookup network-outbound network-bind network-inbound))

(define (check-filter filter)
  (match filter
    (((or 'literal 'subpath) (? string? path))
     (unless (string-prefix? "/" path) (fail "not absolute: " path))
     (when (string-index path #\nul) (fail "a NUL in a path")))
    (((or 'sysctl-name 'sysctl-name-prefix 'global-name 'ipc-posix-name) (? string?)) #t)
    (('target 'same-sandbox) #t)
    (('remote 'tcp (? string?)) #t)
    (((or 'remote 'local) 'ip (? string?)) #t)
    (((or 'remote 'local) 'unix-socket ('subpath (? string?))) #t)
    (_ (fail "an unknown filter: " filter))))

(define (parse-rule form)
  (match form
    (((and verb (or 'allow 'deny)) . rest)
     (call-with-values (lambda () (span symbol? rest))
       (lambda (names others)
         (let ((chosen (filter (lambda (f) (not (eq? (car f) 'with))) others)))
           (for-each (lambda (name)
                       (unless (memq name operations) (fail "an unknown operation: " name)))
                     names)
           (for-each check-filter chosen)
           (vector (eq? verb 'allow) names chosen)))))
    (_ (fail "not a rule: " form))))

;; Rules, the last one first.
(define (read-profile port)
  (unless (equal? (read port) '(version 1)) (fail "the profile does not begin with its version"))
  (let loop ((rules '()))
    (let ((form (read port)))
      (if (eof-object? form)
          (begin
            (unless (equal? (vector-ref (last rules) 1) '(default))
              (fail "the first rule is not the default"))
            rules)
          (loop (cons (parse-rule form) rules))))))

(define (below? path dir)
  (or (string=? dir "/")
      (and (string-prefix? dir path)
           (or (= (string-length dir) (string-length path))
               (char=? (string-ref path (string-length dir)) #\/)))))

;; An operation is also of every kind whose name ends with "*" and is a prefix of its own.
(define (about? name operation)
  (let ((name (symbol->string name)))
    (or (string=? name "default")
        (string=? name operation)
        (and (string-suffix? "*" name)
             (string-prefix? (string-drop-right name 1) operation)))))

(define (matches? filter subject)
  (match filter
    (((or 'literal 'sysctl-name 'global-name 'ipc-posix-name) text) (string=? text subject))
    (('subpath dir) (and (string-prefix? "/" subject) (below? subject dir)))
    (('sysctl-name-prefix text) (string-prefix? text subject))
    (('target who) (string=? (symbol->string who) subject))
    ((side 'unix-socket ('subpath dir))
     (and (string-prefix? "unix:" subject) (below? (string-drop subject 5) dir)))
    ((side kind text)
     (and (string-prefix? (string-append (symbol->string kind) ":") subject)
          (let ((to (string-drop subject (+ 1 (string-length (symbol->string kind))))))
            (or (string=? text "*:*")
                (string=? text to)
                (and (string-suffix? ":*" text)
                     (string-prefix? (string-drop-right text 1) to))))))))

(define (rules-about rules operation)
  (filter (lambda (rule) (any (lambda (name) (about? name operation)) (vector-ref rule 1))) rules))

(define (allowed? rules subject)
  (let ((rule (find (lambda (rule)
                      (or (null? (vector-ref rule 2))
                          (any (lambda (f) (matches? f subject)) (vector-ref rule 2))))
                    rules)))
    (and rule (vector-ref rule 0))))

(define (answer allowed) (if allowed "allow" "deny"))

(define (ask file questions)
  (let ((rules (call-with-input-file file read-profile #:encoding "ISO-8859-1")))
    (for-each (lambda (question)
                (let ((at (string-index question #\=)))
                  (display (answer (allowed? (rules-about rules (string-take question at))
                                             (string-drop question (+ at 1)))))
                  (newline)))
              questions)))

(define (from-hex text)
  (let ((bytes (make-string (quotient (string-length text) 2))))
    (do ((i 0 (+ i 1))) ((= i (string-length bytes)) bytes)
      (string-set! bytes i
                   (integer->char (string->number (substring text (* 2 i) (+ 2 (* 2 i))) 16))))))

(define (agree port)
  (let loop ((rules '()) (about '()) (profiles 0) (questions 0))
    (let ((line (read-line port)))
      (if (eof-object? line)
          (begin (display profiles) (display " ") (display questions) (newline))
          (match (string-split line #\space)
            (("profile" bytes)
             (loop (call-with-input-string (get-string-n port (string->number bytes))
                     read-profile)
                   '() (+ profiles 1) questions))
            ((operation subject expected)
             (let ((known (or (assoc operation about)
                              (cons operation (rules-about rules operation))))
                   (subject (from-hex subject)))
               (unless (string=? expected (answer (allowed? (cdr known) subject)))
                 (fail "profile " profiles ": " operation " " subject " should be " expected))
               (loop rules (if (memq known about) about (cons known about))
                     profiles (+ questions 1)))))))))

(match (cdr (command-line))
  (("ask" file . questions) (ask file questions))
  (("agree")
   (set-port-encoding! (current-input-port) "ISO-8859-1")
   (set-port-encoding! (current-error-port) "ISO-8859-1")
   (agree (current-input-port)))
  (_ (fail "usage: evaluate.scm ask PROFILE QUESTION... | agree <STREAM")))
