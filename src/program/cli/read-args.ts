/** Reads the arguments of a command; rejects wrong ones with a message that names the argument and its correction. */

import { parseArgs, type ParseArgsConfig } from 'node:util';
import { didYouMean } from '../../lib/text/did-you-mean';
import { UsageError } from './usage-error';

type OptionTable = NonNullable<ParseArgsConfig['options']>;

export interface CommandLine<Options extends OptionTable> {
  /** The command as typed: `weir serve`. */
  readonly command: string;
  /** The usage text of the command; it has an example value for each option. */
  readonly usage: string;
  readonly options: Options;
  /** The argument that is not an option, as in `one FILE or DIR`; absent: the command takes none. */
  readonly operand?: string;
  /** The command takes several of them. */
  readonly takesSeveral?: true;
  /** Advice on an unexpected argument. Undefined: there is none. */
  readonly adviseOnOperand?: (argument: string) => string | undefined;
  /** Advice on an unknown option. `value` is the argument after it. */
  readonly adviseOnOption?: (name: string, value: string | undefined) => string | undefined;
}

/** The result of `parseArgs` for valid arguments. */
type ReadArgs<Options extends OptionTable> = ReturnType<typeof parseArgs<{ options: Options; allowPositionals: true; tokens: true }>>;

/** @throws UsageError for the first invalid argument */
export function readArgs<const Options extends OptionTable>(args: readonly string[], line: CommandLine<Options>): ReadArgs<Options> {
  const { command, options } = line;
  const { tokens } = parseArgs({ args: [...args], options, strict: false, allowPositionals: true, tokens: true });
  const refuse = (fault: string): never => {
    throw new UsageError(`${command}: ${fault}\n${command} --help lists its options.`);
  };
  const given: string[] = [];
  const operands: string[] = [];
  for (const [index, token] of tokens.entries()) {
    if (token.kind === 'positional') {
      const fault =
        line.operand === undefined || (operands.length > 0 && line.takesSeveral !== true) ? faultOfOperand(token.value, line) : undefined;
      if (fault !== undefined) refuse(fault);
      operands.push(token.value);
    }
    if (token.kind !== 'option') continue;
    const { name, rawName, value } = token;
    const next = tokens[index + 1];
    const fault = faultOfOption(
      { name, rawName, value, follows: next?.kind === 'positional' ? next.value : undefined, isInline: token.inlineValue === true },
      line,
    );
    if (fault !== undefined) refuse(fault);
    given.push(value === undefined ? rawName : `${rawName}=${value}`);
  }
  // Each value is joined to its option, so that a value may begin with a dash.
  return parseArgs({ args: [...given, '--', ...operands], options, allowPositionals: true, tokens: true });
}

interface GivenOption {
  readonly name: string;
  readonly rawName: string;
  readonly value: string | undefined;
  /** The next argument, which is not the option's value. */
  readonly follows: string | undefined;
  readonly isInline: boolean;
}

function faultOfOption({ name, rawName, value, follows, isInline }: GivenOption, line: CommandLine<OptionTable>): string | undefined {
  const { options, usage, adviseOnOption } = line;
  const option = Object.hasOwn(options, name) && rawName === `--${name}` ? options[name] : undefined;
  if (option === undefined)
    return `${rawName} is not an option; ${adviseOnOption?.(name, value ?? follows) ?? suggest(rawName, Object.keys(options))}`;
  if (option.type === 'boolean') return isInline ? `${rawName} takes no value; leave out =${value ?? ''}` : undefined;
  const isNextOption = !isInline && value?.startsWith('--') === true && Object.hasOwn(options, value.slice(2));
  if (value !== undefined && !isNextOption) return undefined;
  const [, form = 'VALUE'] = new RegExp(`${rawName} ([^\\s\\]]+)`).exec(usage) ?? [];
  return `${rawName} has no value; write it as ${rawName} ${form}`;
}

function suggest(rawName: string, names: readonly string[]): string {
  const meant = didYouMean(
    rawName,
    names.map((name) => `--${name}`),
  );
  return meant === undefined ? `use ${names.map((name) => `--${name}`).join(', ')}` : `did you mean ${meant}?`;
}

function faultOfOperand(argument: string, { command, operand, adviseOnOperand }: CommandLine<OptionTable>): string {
  const shown = JSON.stringify(argument);
  if (operand !== undefined) return `${shown} is an unexpected argument; ${command} takes ${operand}`;
  const advice = adviseOnOperand?.(argument);
  return advice === undefined
    ? `${shown} is an unexpected argument; ${command} takes only options`
    : `${shown} is not an option; ${advice}`;
}
