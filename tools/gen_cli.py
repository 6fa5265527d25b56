#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Make --help texts and shell completions from the manual pages.

usage: gen_cli.py help OUT.h PAGE.scd...
       gen_cli.py completion bash|zsh|fish OUT PAGE.scd...
       gen_cli.py options PAGE.scd...

What is read from a section 1 page:

NAME       "koda-sandbox-env - summary"
SYNOPSIS   one usage per line (ended by "++"); the bold words at the front are the command
COMMANDS   a definition list; on the main page it gives every command its one-line summary
CLAUSES    of doctor's page: the table below "## Clauses of containment" has what CLAUSE can be
OPTIONS    a definition list; entries below "## Options of A and B" belong to those commands,
           entries ahead of any such heading to every command of the page

The first sentence of an entry is what --help and completions show, so it has to stand alone.
"""
import re
import sys
import textwrap
from dataclasses import dataclass, field
from pathlib import Path

PROGRAM = "koda-sandbox"
WIDTH = 80

# What a shell can offer in the place of a word in a synopsis.
KINDS = {
    "DIR": "dir", "FILE": "file", "PATH": "file", "PARENT": "file", "CHILD": "file",
    "TARGET": "file", "ARG": "file", "PROGRAM": "command", "COMMAND": "none",
    "N": "none", "SECONDS": "none", "SIZE": "none", "PATTERN": "none", "HOST": "none",
    "PORT": "none", "WHERE": "none", "CLAUSE": "clause", "NAME[=VALUE]": "variable",
    "TEXT": "none", "EVENTS": "file",
}


class PageError(Exception):
    pass


@dataclass
class Value:
    """A word that the user fills in: one of some choices, or something of a kind."""
    text: str
    choices: list
    kind: str
    repeats: bool = False


@dataclass
class Option:
    names: list  # "-h", "--help"
    value: Value  # None: takes no argument
    about: str

    @property
    def long(self):
        return next((n[2:] for n in self.names if n.startswith("--")), None)

    @property
    def short(self):
        return next((n[1:] for n in self.names if not n.startswith("--")), None)


@dataclass
class Command:
    path: tuple  # () is the program itself
    page: str
    subject: str  # the page's one-line summary
    usages: list
    operands: list = field(default_factory=list)
    options: list = field(default_factory=list)
    about: str = ""
    more: str = ""

    @property
    def name(self):
        return " ".join(self.path)


# ---- reading pages -------------------------------------------------------------------------

def segments(text):
    """Split scdoc text into (style, text): style is "*", "_" or ""."""
    out, style, current, i = [], "", "", 0
    while i < len(text):
        c = text[i]
        inside_word = (c == "_" and current[-1:].isalnum() and text[i + 1:i + 2].isalnum())
        if c == "\\" and i + 1 < len(text):
            i += 1
            current += text[i]
        elif c in "*_" and style in ("", c) and not inside_word:
            if current:
                out.append((style, current))
            current, style = "", "" if style else c
        else:
            current += c
        i += 1
    if current:
        out.append((style, current))
    return out


def plain(text):
    return "".join(t for _, t in segments(text))


def first_sentence(text):
    match = re.match(r"(.*?)\.(?=\s|$)", text, re.S)
    return match.group(1) if match else text


def sentence(text):
    return text[0].upper() + text[1:].rstrip(".") + "."


def make_value(text, place):
    name = text.rstrip(".")
    if "|" in name or name.islower():
        return Value(name, name.split("|"), "choice")
    if name not in KINDS:
        raise PageError(f"{place}: no kind is known for {name}; add it to KINDS")
    return Value(name, [], KINDS[name], text != name)


def read_sections(path):
    lines = path.read_text(encoding="utf-8").split("\n")
    match = re.fullmatch(r"([\w-]+)\((\d)\)", lines[0])
    if not match:
        raise PageError(f"{path}:1: expected name(section)")
    sections, current = {}, []
    for line in lines[1:]:
        if line.startswith("# "):
            current = sections.setdefault(line[2:], [])
        else:
            current.append(line)
    return match.group(1), sections


def definitions(lines):
    """Yield (subheading, term, first paragraph) of a definition list."""
    heading, term, body = "", None, []

    def entry():
        return heading, term, plain(" ".join(body))

    done = False
    for line in lines + [""]:
        if line.startswith("\t"):
            if term and not done:
                body.append(line.strip())
        elif not line.strip():
            done = bool(body)
        else:
            if term and body:
                yield entry()
            term, body, done = None, [], False
            if line.startswith("## "):
                heading = line[3:]
            elif line.startswith("*"):
                term = line
    if term and body:
        yield entry()


def parse_option(term, about, place):
    names = [t for style, t in segments(term) if style == "*"]
    values = [t for style, t in segments(term) if style == "_"]
    if not names or not all(n.startswith("-") for n in names) or len(values) > 1:
        raise PageError(f"{place}: not an option: {term}")
    return Option(names, make_value(values[0], place) if values else None,
                  first_sentence(about))


def parse_operands(tail, place):
    """The operands in what follows the command's name in a synopsis."""
    if re.search(r"\*-\w\*|\*--\w", tail):
        return []  # the words of this form are option arguments
    out = []
    for part in tail.replace("[", " ").replace("]", " ").split():
        if part in ("_OPTION_...", "*--*"):
            continue
        out.append(make_value(plain(part), place))
    return out


def read_page(path):
    page, sections = read_sections(path)
    place = str(path)
    subject = plain(" ".join(sections["NAME"]).strip()).split(" - ", 1)[1]
    commands = []
    usages = "\n".join(sections["SYNOPSIS"]).strip().replace("++\n", "\0").replace("\n", " ")
    for usage in usages.split("\0"):
        head = segments(usage)[0][1].split()
        if head[0] != PROGRAM:
            raise PageError(f"{place}: a synopsis begins with *{PROGRAM}*: {usage}")
        known = next((c for c in commands if c.path == tuple(head[1:])), None)
        if not known:
            known = Command(tuple(head[1:]), page, subject, [])
            commands.append(known)
        known.usages.append(plain(usage))
        if known.path:
            operands = parse_operands(usage.split("* ", 1)[1] if "* " in usage else "", place)
            known.operands = known.operands or operands
    for heading, term, about in definitions(sections["OPTIONS"]):
        words = heading.split()
        for command in commands:
            if not heading or command.path[-1] in words:
                command.options.append(parse_option(term, about, place))
    for command in commands:
        command.options.sort(key=lambda o: "--help" in o.names)
    entries = [(plain(term), about) for _, term, about in
               definitions(sections.get("COMMANDS", []))]
    return page, commands, entries


def read_clauses(path):
    """The first column of the table of clauses; none on a page that has no such table."""
    text = path.read_text(encoding="utf-8")
    _, _, table = text.partition("\n## Clauses of containment\n")
    return re.findall(r"^\|  (\w+)$", table.partition("\n## ")[0], re.M)


def offer_clauses(commands, clauses):
    for command in commands:
        for option in command.options:
            if option.value and option.value.kind == "clause":
                option.value = Value(option.value.text, clauses, "choice")


def read_pages(paths):
    """All commands, the program itself first, then in the order of the main page."""
    commands, summaries, clauses = [], [], []
    for path in map(Path, paths):
        clauses += read_clauses(path)
        page, found, entries = read_page(path)
        commands += found
        if page == PROGRAM:
            summaries = entries
            found[0].about = found[0].subject
        for command in found:
            command.more = next((about for term, about in entries
                                 if command.path and term == command.path[-1]), "")
    if not clauses:
        raise PageError("no page has a table of clauses")
    offer_clauses(commands, clauses)
    order = {}
    for command in commands:
        for i, (term, about) in enumerate(summaries):
            if command.path and (term + " ").startswith(command.name + " "):
                command.about = first_sentence(about)
                order[command.path] = i + 1
        if not command.about:
            raise PageError(f"{command.name}: not among the COMMANDS of {PROGRAM}(1)")
    check_same(commands)
    return sorted(commands, key=lambda c: order.get(c.path, 0))


def check_same(commands):
    """An option means the same in every command; the completions rely on it."""
    seen = {}
    for command in commands:
        for option in command.options:
            for name in option.names:
                if seen.setdefault(name, option.value) != option.value:
                    raise PageError(f"{command.name}: {name} takes another argument elsewhere")


def groups(commands):
    """First words that stand for several commands, in order."""
    return list(dict.fromkeys(c.path[0] for c in commands if len(c.path) > 1))


# ---- help ----------------------------------------------------------------------------------

def rows(pairs):
    """Two columns, the second wrapped; a long first one gets a line of its own."""
    column = min(max(len(a) for a, _ in pairs) + 4, 28)
    out = []
    for a, b in pairs:
        lines = textwrap.wrap(b, WIDTH - column)
        if len(a) + 4 > column:
            out.append("  " + a)
        else:
            out.append(("  " + a).ljust(column) + lines.pop(0))
        out += [" " * column + line for line in lines]
    return out


def option_label(option):
    label = ", ".join(option.names)
    return f"{label} {option.value.text}" if option.value else label


def usage_lines(usages):
    out = ["Usage:"]
    for usage in usages:
        out += textwrap.wrap(usage, WIDTH, initial_indent="  ", subsequent_indent="      ",
                             break_long_words=False, break_on_hyphens=False)
    return out


def help_text(command):
    out = usage_lines(command.usages) + [""]
    out += textwrap.wrap(command.more or sentence(command.about), WIDTH)
    out += ["", "Options:"] + rows([(option_label(o), o.about) for o in command.options])
    out += ["", f"Manual: man {command.page}"]
    return "\n".join(out) + "\n"


def list_text(usages, about, commands, options, page):
    """Help of the program or of a group of commands."""
    out = usage_lines(usages) + ["", about, "", "Commands:"]
    out += rows([(c.name, c.about) for c in commands])
    out += ["", "Options:"] + rows([(option_label(o), o.about) for o in options])
    out += ["", f"'{PROGRAM} COMMAND --help' tells more about one command.",
            f"Manual: man {page}"]
    return "\n".join(out) + "\n"


def help_texts(commands):
    main, rest = commands[0], commands[1:]
    texts = {"": list_text(main.usages, sentence(main.about), rest, main.options, main.page)}
    for group in groups(rest):
        members = [c for c in rest if c.path[0] == group]
        common = [o for o in members[0].options
                  if all(o.names in [x.names for x in m.options] for m in members)]
        texts[group] = list_text([u for m in members for u in m.usages],
                                 sentence(members[0].subject), members, common,
                                 members[0].page)
    for command in rest:
        texts[command.name] = help_text(command)
    return texts


def c_string(text):
    out = []
    for line in text.splitlines(keepends=True):
        line = line.replace("\\", "\\\\").replace('"', '\\"').replace("\t", "\\t")
        line = line.replace("?", "\\?").replace("\n", "\\n")
        if not line.isascii():
            raise PageError(f"help and completions are ASCII: {line}")
        out.append(f'\t"{line}"')
    return "\n".join(out)


def header(commands):
    out = ["/* Made by tools/gen_cli.py from the manual pages; edit those instead. */",
           "#ifndef KODA_CLI_TEXT_H", "#define KODA_CLI_TEXT_H", "",
           "struct cli_text {", "\tconst char *name;", "\tconst char *text;", "};", "",
           "/* By command, \"\" for the program itself. */",
           "static const struct cli_text cli_help_texts[] = {"]
    for name, text in help_texts(commands).items():
        out.append(f'\t{{ "{name}",\n{c_string(text)} }},')
    out += ["};", "", "/* By shell. */", "static const struct cli_text cli_completions[] = {"]
    for shell, make in SHELLS.items():
        out.append(f'\t{{ "{shell}",\n{c_string(make(commands))} }},')
    out += ["};", "", "#endif", ""]
    return "\n".join(out)


# ---- completions ---------------------------------------------------------------------------

def quote(text):
    return "'" + text.replace("'", "'\\''") + "'"


def steps(commands):
    """(command so far, next word, summary) for every word of every command."""
    out = {}
    for command in commands:
        for i, word in enumerate(command.path):
            last = i == len(command.path) - 1
            about = command.about if last else sentence(command.subject).rstrip(".")
            out.setdefault((" ".join(command.path[:i]), word), about)
    return [(before, word, about) for (before, word), about in out.items()]


# "help COMMAND" is no command of its own; shells offer it as one.
HELP = "Print the help of a command"


def taking_names(commands):
    """Options that take an argument."""
    return sorted({n for c in commands for o in c.options if o.value for n in o.names})


def bash_offer(value):
    return {
        "choice": f"_koda_sandbox_words {' '.join(value.choices)}",
        "dir": "_koda_sandbox_files -d",
        "file": "_koda_sandbox_files -f",
        "command": "_koda_sandbox_files -c",
        "variable": 'mapfile -t COMPREPLY < <(compgen -e -- "$cur")',
        "none": ":",
    }[value.kind]


def bash_values(commands):
    """case arms: what to offer as the argument of each option."""
    arms = {}
    for command in commands:
        for option in command.options:
            if option.value:
                names = arms.setdefault(bash_offer(option.value), {})
                names.update(dict.fromkeys(option.names))
    return [f"\t\t{'|'.join(names)}) {offer} ;;" for offer, names in arms.items()]


def bash_operands(commands):
    arms = []
    words = {}
    for before, word, _ in steps(commands):
        words.setdefault(before, []).append(word)
    for before, offered in words.items():
        arms.append(f"\t{quote('help ' + before + ' 0')}) "
                    f"_koda_sandbox_words {' '.join(offered)} ;;")
        offered = offered if before else offered + ["help"]
        arms.append(f"\t{quote(before + ' 0')}) _koda_sandbox_words {' '.join(offered)} ;;")
    for command in commands[1:]:
        for i, value in enumerate(command.operands):
            pattern = quote(f"{command.name} ") + "*" if value.repeats else \
                quote(f"{command.name} {i}")
            arms.append(f"\t{pattern}) {bash_offer(value)} ;;")
    return arms


def bash(commands):
    taking = taking_names(commands)
    starters = [c.name for c in commands if any(v.kind == "command" for v in c.operands)]
    moves = [f"\t\t{quote(before + ':' + word)}) command={quote((before + ' ' + word).strip())}"
             " ;;" for before, word, _ in steps(commands)]
    options = {}
    for command in commands:
        options[command.name] = [n for o in command.options for n in o.names]
    for group in groups(commands):
        options.setdefault(group, ["-h", "--help"])
    offers = [f"\t\t{quote(name)}) _koda_sandbox_words {' '.join(names)} ;;"
              for name, names in options.items()]
    return "\n".join([
        f"# Completion of {PROGRAM} for bash, made from its manual pages.", "",
        "_koda_sandbox_words()", "{",
        '\tmapfile -t COMPREPLY < <(compgen -W "$*" -- "$cur")', "}", "",
        "_koda_sandbox_files()", "{",
        "\tcompopt -o filenames 2>/dev/null",
        '\tmapfile -t COMPREPLY < <(compgen "$1" -- "$cur")', "}", "",
        "_koda_sandbox()", "{",
        "\tlocal cur=${COMP_WORDS[COMP_CWORD]} command='' option='' ended='' operands=0 i word",
        "\tlocal helping=''",
        "\tCOMPREPLY=()",
        "\tfor ((i = 1; i < COMP_CWORD; i++)); do",
        "\t\tword=${COMP_WORDS[i]}",
        "\t\tif [[ $word == '=' && -n $option ]]; then",
        "\t\t\tcontinue # bash splits --option=value at the sign",
        "\t\telif [[ -n $option ]]; then",
        "\t\t\toption=''",
        "\t\t\tcontinue",
        "\t\telif [[ -z $ended && $word == -- ]]; then",
        "\t\t\tended=1",
        "\t\t\tcontinue",
        "\t\telif [[ -z $ended && $word == -* ]]; then",
        "\t\t\tcase $word in",
        "\t\t\t" + "|".join(taking) + ") option=$word ;;",
        "\t\t\tesac",
        "\t\t\tcontinue",
        "\t\telif [[ -z $helping$command && $operands -eq 0 && $word == help ]]; then",
        "\t\t\thelping='help '",
        "\t\t\tcontinue",
        "\t\tfi",
        '\t\tcase "$command:$word" in',
        *moves,
        "\t\t*) operands=$((operands + 1)) ;;",
        "\t\tesac",
        "\tdone",
        "\tif [[ -n $option ]]; then",
        "\t\t[[ $cur == '=' ]] && cur=''",
        "\t\tcase $option in",
        *bash_values(commands),
        "\t\tesac",
        "\t\treturn",
        "\tfi",
        "\tcase $command in # words after a program are its own",
        "\t" + "|".join(map(quote, starters)) + ") ((operands)) && ended=1 ;;",
        "\tesac",
        "\tif [[ -z $ended && -z $helping && $cur == -* ]]; then",
        "\t\tcase $command in",
        *offers,
        "\t\tesac",
        "\t\treturn",
        "\tfi",
        '\tcase "$helping$command $operands" in',
        *bash_operands(commands),
        "\tesac",
        "}", "",
        f"complete -F _koda_sandbox {PROGRAM}", ""])


def zsh_text(text):
    return re.sub(r"([\[\]:\\])", r"\\\1", text)


def zsh_action(value):
    return {
        "choice": f"({' '.join(value.choices)})",
        "dir": "_files -/",
        "file": "_files",
        "command": "_command_names -e",
        "variable": "_parameters -g '*export*'",
        "none": " ",
    }[value.kind]


def zsh_specs(command):
    specs = []
    for option in command.options:
        value = f":{zsh_text(option.value.text)}:{zsh_action(option.value)}" \
            if option.value else ""
        alone = "(- *)" if "--help" in option.names or "--version" in option.names else ""
        again = "*" if "(repeatable)" in option.about else ""
        about = zsh_text(option.about.replace(" (repeatable)", ""))
        for name in option.names:
            sign = "=" if value and name.startswith("--") else ""
            specs.append(quote(f"{alone}{again}{name}{sign}[{about}]{value}"))
    for i, value in enumerate(command.operands):
        slot = "*" if value.repeats else str(i + 1)
        specs.append(quote(f"{slot}:{zsh_text(value.text)}:{zsh_action(value)}"))
    return specs


def zsh_words(before, commands):
    return [(w, a.replace(":", r"\:")) for b, w, a in steps(commands) if b == before]


def zsh_list(words):
    return ["\tcommands=(", *[f"\t\t{quote(w + ':' + a)}" for w, a in words], "\t)"]


def zsh_help(name, commands):
    """The function for help: a command's words, and nothing behind them."""
    out = [f"{name}_help()", "{", "\tlocal curcontext=$curcontext state line",
           "\tlocal -a commands", *zsh_list(zsh_words("", commands)),
           "\t_arguments -C -S '1:command:->command' '2:command:->second'",
           "\tcase $state in", "\tcommand) _describe command commands ;;", "\tsecond)",
           "\t\tcommands=()", "\t\tcase $line[1] in"]
    for group in groups(commands):
        inner = " ".join(quote(w + ":" + a) for w, a in zsh_words(group, commands))
        out.append(f"\t\t{group}) commands=({inner}) ;;")
    return out + ["\t\tesac", "\t\t_describe command commands ;;", "\tesac", "}", ""]


def zsh_function(name, specs, before, commands):
    """A function for the program or a group: offers the next word, then hands on."""
    words = zsh_words(before, commands) + ([] if before else [("help", HELP)])
    return [
        f"{name}()", "{",
        "\tlocal curcontext=$curcontext state line",
        "\tlocal -a commands",
        *zsh_list(words),
        "\t_arguments -C -S " + " ".join(specs) + " '1:command:->command' '*::argument:->rest'",
        "\tcase $state in",
        "\tcommand) _describe command commands ;;",
        "\trest)",
        "\t\tcase $line[1] in",
        *[f"\t\t{w}) {name}_{w} ;;" for w, _ in words],
        "\t\tesac ;;",
        "\tesac", "}", ""]


def zsh(commands):
    name = "_" + PROGRAM
    out = [f"#compdef {PROGRAM}",
           f"# Completion of {PROGRAM} for zsh, made from its manual pages.", ""]
    for command in commands[1:]:
        specs = " \\\n\t\t".join(zsh_specs(command))
        own = " -A '-*'" if any(v.kind == "command" for v in command.operands) else ""
        out += ["_".join((name,) + command.path) + "()", "{",
                f"\t_arguments -S{own} \\\n\t\t{specs}", "}", ""]
    for group in groups(commands):
        member = next(c for c in commands if c.path[:1] == (group,))
        wanted = [o for o in member.options if "--help" in o.names]
        specs = zsh_specs(Command((group,), "", "", [], [], wanted))
        out += zsh_function(f"{name}_{group}", specs, group, commands)
    out += zsh_help(name, commands)
    out += zsh_function(name, zsh_specs(commands[0]), "", commands)
    out += ["# Loaded from fpath this file is the function's body; otherwise it is sourced.",
            f"if [[ $funcstack[1] == {name} ]]; then", f'\t{name} "$@"',
            "else", f"\tcompdef {name} {PROGRAM}", "fi", ""]
    return "\n".join(out)


def fish_value(value):
    return {
        "choice": f"-x -a {quote(' '.join(value.choices))}",
        "dir": "-x -a '(__fish_complete_directories)'",
        "file": "-r -F",
        "command": "-x -a '(__fish_complete_command)'",
        "variable": "-x -a '(set --names --export)'",
        "none": "-x",
    }[value.kind]


def fish_lines(command):
    """Options and operands of one command; the program's own options stand before any word."""
    count = "any" if command.path else "0"
    here = quote(f"__koda_sandbox_at {count} {command.name}".strip())
    for option in command.options:
        names = "".join(f" -{'l' if n.startswith('--') else 's'} {n.lstrip('-')}"
                        for n in option.names)
        value = " " + fish_value(option.value) if option.value else ""
        yield f"complete -c {PROGRAM} -n {here}{names}{value} -d {quote(option.about)}"
    for i, value in enumerate(command.operands):
        count = "any" if value.repeats else str(i)
        here = quote(f"__koda_sandbox_at {count} {command.name}")
        if value.kind != "none":
            yield f"complete -c {PROGRAM} -n {here} {fish_value(value).replace('-r ', '')}"


def fish(commands):
    taking = taking_names(commands)
    out = [f"# Completion of {PROGRAM} for fish, made from its manual pages.", "",
           "# True if the words so far are this command and then COUNT operands (or \"any\").",
           "function __koda_sandbox_at",
           "\tset -l count $argv[1]",
           "\tset -l want $argv[2..-1]",
           "\tset -l words",
           "\tset -l skip 0",
           "\tfor word in (commandline -opc)[2..-1]",
           "\t\tif test $skip -eq 1",
           "\t\t\tset skip 0",
           f"\t\telse if contains -- $word {' '.join(taking)}",
           "\t\t\tset skip 1",
           "\t\telse if not string match -q -- '-*' $word",
           "\t\t\tset -a words $word",
           "\t\tend",
           "\tend",
           "\tfor i in (seq (count $want))",
           "\t\ttest \"$words[$i]\" = \"$want[$i]\"; or return 1",
           "\tend",
           "\ttest $count = any; and return 0",
           "\ttest (math (count $words) - (count $want)) -eq $count",
           "end", "", f"complete -c {PROGRAM} -f"]
    for before, word, about in steps(commands):
        for prefix in ("", "help "):
            here = quote(f"__koda_sandbox_at 0 {prefix}{before}".strip())
            out.append(f"complete -c {PROGRAM} -n {here} -a {word} -d {quote(about)}")
    out.append(f"complete -c {PROGRAM} -n '__koda_sandbox_at 0' -a help -d {quote(HELP)}")
    for command in commands:
        out += fish_lines(command)
    return "\n".join(out) + "\n"


SHELLS = {"bash": bash, "zsh": zsh, "fish": fish}


# ---- command line --------------------------------------------------------------------------

def option_table(commands):
    for command in commands:
        for option in command.options:
            name = option.long or "-" + option.short
            print(command.name or "-", name, "yes" if option.value else "no", sep="\t")


def main(argv):
    try:
        if len(argv) >= 4 and argv[1] == "help":
            Path(argv[2]).write_text(header(read_pages(argv[3:])), encoding="ascii")
        elif len(argv) >= 5 and argv[1] == "completion" and argv[2] in SHELLS:
            Path(argv[3]).write_text(SHELLS[argv[2]](read_pages(argv[4:])), encoding="ascii")
        elif len(argv) >= 3 and argv[1] == "options":
            option_table(read_pages(argv[2:]))
        else:
            print(__doc__.split("\n\n")[1], file=sys.stderr)
            return 2
    except (PageError, OSError, KeyError) as error:
        print(f"gen_cli.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
