import type { CommandWords, Values } from './words.js';

/** The script. Lines with @ are made from the commands. */
const TEMPLATE = `# Completion of acc. Written by: acc completion bash
_acc() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" prev="\${COMP_WORDS[COMP_CWORD-1]}"
  local command="" arguments=0 skip=0 i word
  # bash takes the = of --option=value for a word.
  if [[ $cur == "=" ]]; then cur=""; elif [[ $prev == "=" ]]; then prev="\${COMP_WORDS[COMP_CWORD-2]}"; fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    word="\${COMP_WORDS[i]}"
    if [[ $word == "=" ]]; then skip=1; continue; fi
    if ((skip)); then skip=0; continue; fi
    # What follows the script belongs to the program.
    if [[ $command == launch ]] && ((arguments > 0)); then continue; fi
    case "$command:$word" in
@entering
@skipping
      *:-*) ;;
      *) arguments=$((arguments + 1)) ;;
    esac
  done
  COMPREPLY=()
  if [[ $command == launch ]] && ((arguments > 0)); then _acc_files; return; fi
  case "$command:$prev" in
@values
  esac
  case "$command" in
@words
  esac
}

_acc_words() {
  COMPREPLY=($(compgen -W "$1" -- "$cur"))
}

_acc_files() {
  local IFS=$'\\n'
  compopt -o filenames 2>/dev/null
  COMPREPLY+=($(compgen -f -- "$cur"))
}

# npx acc … is completed as acc …. Other words after npx are left to the earlier completion of npx.
_acc_npx() {
  if ((COMP_CWORD < 2)) || [[ \${COMP_WORDS[1]} != acc ]]; then
    if [[ -n \${_acc_npx_before-} ]]; then "$_acc_npx_before" "$@"; fi
    return
  fi
  COMP_WORDS=("\${COMP_WORDS[@]:1}")
  COMP_CWORD=$((COMP_CWORD - 1))
  _acc
}

complete -F _acc acc
_acc_npx_spec="\${BASH_VERSION:+$(complete -p npx 2>/dev/null)}"
case "$_acc_npx_spec" in
  "") complete -o default -F _acc_npx npx ;;
  *"-F _acc_npx "*) ;;
  *"-F "*)
    _acc_npx_before="\${_acc_npx_spec#*-F }"
    _acc_npx_before="\${_acc_npx_before%% *}"
    eval "\${_acc_npx_spec/-F $_acc_npx_before/-F _acc_npx}"
    ;;
esac
`;

/** A function of bash, which zsh runs, too. */
export function bashScript(commands: readonly CommandWords[]): string {
  const parts: Readonly<Record<string, string[]>> = {
    '@entering': commands.flatMap(enteringCases),
    '@skipping': commands.flatMap(skippingCases),
    '@values': commands.flatMap(valueCases),
    '@words': commands.map(wordCase),
  };
  return TEMPLATE.replace(/^@\w+$/gm, (name) => parts[name]!.join('\n'));
}

const nameOf = ({ path }: CommandWords): string => path.join(' ');

function enteringCases(command: CommandWords): string[] {
  return command.subcommands.map((name) => {
    const inner = [...command.path, name].join(' ');
    return `      "${nameOf(command)}:${name}") command="${inner}" ;;`;
  });
}

/** Options whose next word is a value. */
function skippingCases(command: CommandWords): string[] {
  const names = command.options.flatMap(({ names: some, values }) => (values ? some : []));
  return names.length === 0 ? [] : [`      ${patterns(command, names)}) skip=1 ;;`];
}

function valueCases(command: CommandWords): string[] {
  return command.options.flatMap(({ names, values }) =>
    values ? [`    ${patterns(command, names)}) ${complete(values)}; return ;;`] : [],
  );
}

const patterns = (command: CommandWords, names: readonly string[]): string =>
  names.map((name) => `"${nameOf(command)}:${name}"`).join('|');

function wordCase(command: CommandWords): string {
  const options = command.options.flatMap(({ names }) => names).join(' ');
  const { subcommands, argument } = command;
  const words = subcommands.length > 0 ? `_acc_words "${subcommands.join(' ')}"` : ':';
  const others = argument ? `${words}; ${complete(argument)}` : words;
  return `    "${nameOf(command)}") if [[ $cur == -* ]]; then _acc_words "${options}"; else ${others}; fi ;;`;
}

function complete(values: Values): string {
  if ('words' in values) {
    const words = `_acc_words "${values.words.join(' ')}"`;
    return values.kind === 'words' ? words : `${words}; _acc_files`;
  }
  return values.kind === 'file' ? '_acc_files' : ':';
}
