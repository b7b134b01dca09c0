/** The error of a call to the admin API, as one sentence for people. */

import { printable } from './printable';

/** A part of a problem document (RFC 9457). */
interface Problem {
  readonly title?: unknown;
  readonly detail?: unknown;
  readonly errors?: unknown;
}

/** The admin API did not answer, or refused the call. The command exits with 1. */
export class AdminError extends Error {
  override readonly name = 'AdminError';
  /** The same call would be refused again. */
  readonly isFinal: boolean;
  /** The status of the reply. Absent: there was none, or none of Weir. */
  readonly status: number | undefined;

  constructor(message: string, { isFinal = false, status }: { readonly isFinal?: boolean; readonly status?: number } = {}) {
    super(message);
    this.isFinal = isFinal;
    this.status = status;
  }
}

/** Advice on a status, where the reply cannot give it. */
const ADVICE: Readonly<Record<number, string>> = {
  401: 'name the file of a valid token in WEIR_ADMIN_TOKEN_FILE or --token-file',
  404: 'if it should exist, check the domain and the name',
  412: 'read it again, and repeat the change if it is still wanted',
};

/** Too many failed tries, or too many streams, which pass. */
const TOO_MANY = 429;

/** Reads the problem of a reply. `options` are those of the command, which the sentence names instead of fields of the API. */
export function refusalOf(status: number, body: string, options: readonly string[]): AdminError {
  const problem = parseProblem(body);
  if (problem === undefined)
    return new AdminError(`the reply has the status ${status} and is not of Weir; check WEIR_ADMIN_URL (${printable(body.slice(0, 80))})`);
  const fields = fieldsOf(problem, options);
  const said = typeof problem.detail === 'string' ? problem.detail : String(problem.title);
  const fault = printable(fields.length === 0 ? withFlags(said, options) : fields.join('; '));
  const advice = ADVICE[status];
  const sentence = `refused with ${status}: ${fault}${advice === undefined || fault.includes('read it again') ? '' : `; ${advice}`}`;
  return new AdminError(sentence, { isFinal: status < 500 && status !== TOO_MANY, status });
}

function parseProblem(body: string): Problem | undefined {
  try {
    const json: unknown = JSON.parse(body);
    return typeof json === 'object' && json !== null && ('detail' in json || 'title' in json) ? json : undefined;
  } catch {
    return undefined;
  }
}

/** `send ahead=true` is `give --ahead` to a user of the command. */
function withFlags(text: string, options: readonly string[]): string {
  return text.replace(/(send )?\b([a-z]+)=true\b/g, (all, send: string | undefined, name: string) => {
    if (!options.includes(name)) return all;
    return `${send === undefined ? '' : 'give '}--${name}`;
  });
}

function fieldsOf({ errors }: Problem, options: readonly string[]): readonly string[] {
  if (!Array.isArray(errors)) return [];
  return errors.flatMap((each: unknown) => {
    const { field, problem } = each as { readonly field?: unknown; readonly problem?: unknown };
    return typeof field === 'string' && typeof problem === 'string' ? [`${asOption(field, options)}: ${problem}`] : [];
  });
}

/** `body/limit/unit` is `--limit (unit)` of a command with this option. */
function asOption(field: string, options: readonly string[]): string {
  const [, name = '', ...rest] = field.split('/');
  const option = [name.replaceAll('_', '-'), name.replace(/s$/, '')].find((each) => options.includes(each));
  if (option === undefined) return field.replace(/^path\/(\w+)$/, (_, operand: string) => operand.toUpperCase());
  return rest.length === 0 ? `--${option}` : `--${option} (${rest.join('/')})`;
}
