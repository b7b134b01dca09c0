/** Reads what a test expects of an answer. */

import { HITS_MAX } from '../../../../domain/descriptor/descriptor';
import { show } from '../../../../lib/quote';
import { isNull, type ConfigNode } from '../../../../configuration/yaml/config-node';
import type { Fields, NodeReader } from './node-reader';
import { ANSWER_CODES, CODES, STATES, type AnswerCode, type Expectation, type StatusExpectation } from './test-file';

export const STATUS_FIELDS = ['code', 'remaining', 'reset', 'rule', 'limit', 'candidate'];
export const STEP_FIELDS = ['granted', 'state', 'cut', 'late', 'unknown', 'repeated'];
export const EXPECT_FIELDS = [...STATUS_FIELDS, 'retry_after', 'headers', 'status', 'statuses', 'admitted', 'denied', ...STEP_FIELDS];

export interface ReadExpectationInput {
  readonly path: string;
  /** Repetitions of the request. */
  readonly times: number;
  readonly reader: NodeReader;
}

export function readExpectation(node: ConfigNode | undefined, input: ReadExpectationInput): Expectation | undefined {
  const { path, times, reader } = input;
  if (node === undefined) return undefined;
  if (node.kind === 'scalar') return { code: readCode(node, path, { codes: ANSWER_CODES, reader }) };
  const fields = reader.map(node, { path, known: EXPECT_FIELDS });
  const [code, wait, headers] = [fields.get('code'), fields.get('retry_after'), fields.get('headers')];
  const never = wait?.kind === 'scalar' && wait.text === 'never';
  const whole = (name: string, max: number) => reader.whole(fields.get(name), `${path}.${name}`, { min: 0, max });
  const flag = (name: string) => reader.flag(fields.get(name), `${path}.${name}`);
  return {
    ...readStatusFields(fields, input),
    code: code && readCode(code, `${path}.code`, { codes: ANSWER_CODES, reader }),
    retryAfterUs: never ? ('never' as const) : reader.duration(wait, `${path}.retry_after`),
    headers: headers && readHeaders(headers, `${path}.headers`, reader),
    statuses: readStatuses(fields, input),
    admitted: whole('admitted', times),
    denied: whole('denied', times),
    granted: whole('granted', HITS_MAX),
    state: reader.word(fields.get('state'), `${path}.state`, STATES),
    cut: whole('cut', HITS_MAX),
    late: flag('late'),
    unknown: flag('unknown'),
    repeated: flag('repeated'),
  };
}

/** `status` and `statuses` are the same. */
function readStatuses(fields: Fields, { path, reader }: ReadExpectationInput): readonly StatusExpectation[] | undefined {
  const [short, long] = [fields.get('status'), fields.get('statuses')];
  if (short !== undefined && long !== undefined) reader.report(long, `${path}.statuses`, 'repeats status; remove one of them');
  const name = short === undefined ? 'statuses' : 'status';
  const node = short ?? long;
  return node && reader.list(node, `${path}.${name}`).map((each, index) => readStatus(each, { path: `${path}.${name}[${index}]`, reader }));
}

function readStatus(node: ConfigNode, { path, reader }: Pick<ReadExpectationInput, 'path' | 'reader'>): StatusExpectation {
  if (node.kind === 'scalar') return { code: readCode(node, path, { codes: CODES, reader }) };
  const fields = reader.map(node, { path, known: STATUS_FIELDS });
  const code = fields.get('code');
  return { ...readStatusFields(fields, { path, reader }), code: code && readCode(code, `${path}.code`, { codes: CODES, reader }) };
}

function readStatusFields(
  fields: Fields,
  { path, reader }: Pick<ReadExpectationInput, 'path' | 'reader'>,
): Omit<StatusExpectation, 'code'> {
  const [rule, limit] = [fields.get('rule'), fields.get('limit')];
  return {
    remaining: reader.whole(fields.get('remaining'), `${path}.remaining`, { min: 0, max: HITS_MAX }),
    resetUs: reader.duration(fields.get('reset'), `${path}.reset`),
    rule: rule && reader.text(rule, `${path}.rule`),
    limit: limit && reader.text(limit, `${path}.limit`),
    candidate: reader.word(fields.get('candidate'), `${path}.candidate`, CODES),
  };
}

function readHeaders(node: ConfigNode, path: string, reader: NodeReader): ReadonlyMap<string, string | null> {
  if (node.kind !== 'map') {
    reader.report(node, path, 'must be a map of header names and values');
    return new Map();
  }
  return new Map(
    [...node.fields].map(([name, { value }]) => [name.toLowerCase(), isNull(value) ? null : reader.text(value, `${path}.${name}`)]),
  );
}

interface ReadCodeInput<Known extends AnswerCode> {
  readonly codes: readonly Known[];
  readonly reader: NodeReader;
}

function readCode<Known extends AnswerCode>(node: ConfigNode, path: string, { codes, reader }: ReadCodeInput<Known>): Known | undefined {
  const text = reader.text(node, path);
  const code = codes.find((each) => each === text);
  if (code === undefined) reader.report(node, path, `${show(text)} is not a code; use ${codes.slice(0, -1).join(', ')} or ${codes.at(-1)}`);
  return code;
}
