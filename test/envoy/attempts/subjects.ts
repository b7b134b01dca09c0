/** What callers try to escape: the limits of all published Envoy configurations, with what each of them intends. */
import { readdirSync, statSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { gzipSync } from 'node:zlib';
import { fencedBlocks } from '../../support/docs/markdown';
import { ACTION_TARGETS } from '../examples/action-targets';
import { textOf, type Example } from '../examples/example-gateway';
import { EXAMPLES } from '../examples/examples';
import { OTHER_TARGETS } from '../examples/other-targets';
import { networkOf, plain, withToken, type Target } from '../examples/target';
import { fieldOf, type Answer, type Received } from './raw-backend';

const DEPLOY = resolve(__dirname, '..', '..', '..', 'deploy');

/** What a configuration means to do beside its limit. */
interface Intent extends Pick<Target, 'forged'> {
  /** In place of the target's: names that have an API key each. */
  readonly request?: Target['request'];
  readonly descriptor?: Target['descriptor'];
  /** The larger limit that this request has, because it says what it is. */
  readonly bound?: (received: Received) => number | undefined;
  /** What this request has to be charged under the descriptor of the target. */
  readonly cost?: (received: Received, hungUp: boolean) => number;
  /** Why spellings that only some servers take for the same path may have a larger limit. */
  readonly forgiving?: string;
  /** Why a caller is never at its limit here. */
  readonly neverFull?: string;
  /** Headers that a proxy in front writes, so callers do not. */
  readonly written?: readonly string[];
  /** Why requests of one connection count once. */
  readonly byConnection?: string;
}

export type Subject = Target & Intent;

export function nameOf({ example, by }: Target): string {
  return `${example}, by ${by}`;
}

/** Costs of an answer: more than the limit of a user, as `withoutRefill` writes it. */
const TOKENS = 11_000_000;
const RECIPE_TOKENS = 2_000_000;

function keyed(target: string): Intent {
  return {
    request: ({ name, address }) => ({ from: address, target, headers: [['x-api-key', `key-of-${name}-1`]] }),
    descriptor: ({ name }) => ({ client: name }),
  };
}

/** A caller that hangs up before the usage event pays nothing (docs/usage-limits.md), nor does an answer without a body. */
function tokensOf({ method, answer }: Received, hungUp: boolean): number {
  return hungUp || method === 'HEAD' ? 0 : (answer.cost ?? 0);
}

/** Each attempt whose answer is not another one counts as failed, also if its caller is gone. */
const failed: Intent['cost'] = () => 1;

const INTENTS: Readonly<Record<string, Intent>> = {
  'headers, by header_value_match': { bound: ({ method }) => (/^(GET|HEAD|OPTIONS)$/.test(method) ? 10_000 : undefined) },
  'queries, by query_parameters': { forged: ['format'] },
  'queries, by query_parameters, without the parameter': { forged: ['format'] },
  'queries, by query_parameter_value_match': {
    forged: ['cached'],
    bound: ({ target }) => (/^[^?]*\?cached=true$/.test(target) ? 20 : undefined),
  },
  'expressions, by an expression over the length': {
    bound: (received) => (/^0*\d{1,4}$/.test(fieldOf(received, 'content-length') ?? '') && received.bodyBytes < 10_000 ? 100 : undefined),
  },
  'costs, by hits_addend.format': {
    bound: (received) => ({ small: 200, medium: 20 })[fieldOf(received, 'x-size') ?? ''],
    cost: (received) => ({ small: 1, medium: 10 })[fieldOf(received, 'x-size') ?? ''] ?? 100,
  },
  'costs, by hits_addend.number': { cost: () => 5 },
  'api-keys, by the client of an API key': keyed('/data'),
  'recipes, by a route, for the client of an API key': {
    ...keyed('/search'),
    descriptor: ({ name }) => ({ client: name, route: 'search' }),
  },
  'recipes, by failed logins of an address': { request: plain('/login'), cost: failed },
  'failed-logins, by failed logins of an address': { request: plain('/login'), cost: failed },
  'llm-tokens, by tokens of a user': {
    request: ({ name, address }) => {
      const { headers = [] } = withToken('/v1/chat', 'llm', { team: `team-of-${name}` })({ name, address });
      const body = `{"model":"model-of-${name}"}`;
      const described = [['content-type', 'application/json'] as const, ['content-length', String(body.length)] as const];
      return { from: address, method: 'POST', target: '/v1/chat', headers: [...headers, ...described], body };
    },
    cost: tokensOf,
  },
  'estimate, by tokens of a user, with an estimate': { request: withToken('/v1/chat', 'llm'), cost: tokensOf },
  'cloudflare, by CF-Connecting-IP': { written: ['cf-connecting-ip'] },
};

const README_BLOCKS = fencedBlocks('README.md', 'yaml');

const README: Example = {
  id: 'readme',
  envoy: { text: README_BLOCKS.find((block) => block.startsWith('static_resources:'))! },
  limits: { text: README_BLOCKS.find((block) => block.startsWith('domain:'))! },
};

const FURTHER: readonly Subject[] = [
  {
    example: 'readme',
    by: 'path and address',
    request: plain('/payment'),
    passes: 3,
    descriptor: (caller) => ({ path: '/payment', masked_remote_address: networkOf(caller) }),
    forgiving: 'README: spellings that Envoy does not know have the limit of all other paths',
    neverFull: 'other paths have a limit of their own',
  },
  {
    example: 'in-flight',
    by: 'requests of a user in flight',
    request: withToken('/', 'api'),
    passes: 20,
    descriptor: ({ name }) => ({ user: name }),
    forged: ['x-user', 'x-request-id'],
    neverFull: 'each request gives its slot back',
  },
  {
    example: 'mcp-tools',
    by: 'calls of a tool by a user',
    request: (caller) => {
      const { headers = [] } = withToken('/mcp', 'mcp')(caller);
      const body = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"run_query"}}';
      const described = [['content-type', 'application/json'] as const, ['content-length', String(body.length)] as const];
      return { from: caller.address, method: 'POST', target: '/mcp', headers: [...headers, ...described], body };
    },
    passes: 5,
    descriptor: ({ name }) => ({ version: '2.0', method: 'tools/call', tool: 'run_query', user: name }),
    forged: ['x-user'],
    // Without a body no tool is called.
    bound: ({ method }) => (method === 'POST' ? undefined : 300),
  },
  {
    example: 'costs',
    by: 'bytes of uploads',
    request: ({ address }) => ({
      from: address,
      method: 'POST',
      target: '/upload',
      headers: [['content-length', '30']],
      body: 'x'.repeat(30),
    }),
    passes: 1,
    descriptor: (caller) => ({ cost: 'bytes', masked_remote_address: networkOf(caller) }),
    cost: ({ bodyBytes }) => bodyBytes,
    neverFull: 'the limit is larger than all uploads of this test',
  },
  {
    example: 'recipes',
    by: 'tokens of an API key',
    ...keyed('/v1/chat'),
    request: keyed('/v1/chat').request!,
    descriptor: ({ name }) => ({ client: name, unit: 'tokens' }),
    passes: 1,
    total: 21,
    settlesAfter: 3,
    forged: ['x-client-id'],
    cost: tokensOf,
    forgiving: 'docs/recipes.md: spellings that Envoy does not know have the limit of the key alone',
  },
  {
    example: 'recipes',
    by: 'exports of an API key in flight',
    request: keyed('/export').request!,
    descriptor: ({ name }) => ({ client: name, exports: 'all' }),
    passes: 2,
    total: 22,
    forged: ['x-client-id', 'x-request-id'],
    neverFull: 'each request gives its slot back',
  },
  {
    example: 'connections',
    by: 'connections of an address',
    request: plain('/'),
    passes: 10,
    descriptor: ({ address }) => ({ listener: 'ingress', client: `${address}/32` }),
    byConnection: 'the limit is by connection: whatever is sent over one counts once',
  },
];

/** What the generator does not send to: its listener speaks no HTTP. */
const WITHOUT_HTTP = ['thrift'];

/** Shared limits are never reached here; all others do not refill, so that time changes nothing. */
function withoutRefill(text: string): string {
  return text
    .replaceAll(/unit: (second|minute|hour)/g, 'unit: year')
    .replaceAll(/(requests_per_unit|overdraft_max): (\d{4,})/g, (_, name: string, value: string) => `${name}: ${Number(value) * 100}`);
}

/** Istio's name of Weir's cluster is the authority of the calls, which Node's own server would refuse. */
function withoutIstioName({ id, replacements }: Example): Example['replacements'] {
  return id.startsWith('istio-') ? { 'outbound|8081||weir.default.svc.cluster.local': 'weir' } : replacements;
}

export const SITES: readonly Example[] = [...EXAMPLES, README]
  .filter(({ id }) => !WITHOUT_HTTP.includes(id))
  .map((example) => ({
    ...example,
    replacements: withoutIstioName(example) ?? {},
    limits: { text: withoutRefill(textOf(example.limits)) },
  }));

/** With a key for each name that the test may need. */
export function withKeys(example: Example, names: readonly string[]): Example {
  const known = '- {key: key-of-bank-1, client: bank}';
  if (example.id !== 'api-keys' && example.id !== 'recipes') return example;
  const keys = names.map((name) => `              - {key: key-of-${name}-1, client: ${name}}`);
  return { ...example, replacements: { ...example.replacements, [known]: [known, ...keys].join('\n') } };
}

export const SUBJECTS: readonly Subject[] = [
  ...[...ACTION_TARGETS, ...OTHER_TARGETS].map((target) => ({ ...target, ...INTENTS[nameOf(target)] })),
  ...FURTHER,
];

/** Intents of limits that are not there any more. */
export const LOST_INTENTS: readonly string[] = Object.keys(INTENTS).filter((name) => !SUBJECTS.some((subject) => nameOf(subject) === name));

/** Every file below deploy/ that is a whole Envoy configuration. */
export function publishedConfigurations(folder = DEPLOY): readonly string[] {
  return readdirSync(folder).flatMap((name) => {
    const path = join(folder, name);
    if (statSync(path).isDirectory()) return publishedConfigurations(path);
    return name === 'envoy.yaml' ? [relative(DEPLOY, path)] : [];
  });
}

const USAGE_TYPES = [
  'application/json',
  'application/json; charset=utf-8',
  'Application/JSON',
  'application/vnd.llm.v1+json;v=1',
  'application/problem+json',
];

/** What the backend of a configuration answers: where answers cost something, in one of the ways that the pages name. */
export function answerOf(example: string): ((request: Pick<Received, 'head' | 'target'>) => Answer) | undefined {
  if (example === 'failed-logins') return () => ({ status: 401 });
  if (example === 'estimate') return () => ({ headers: { 'x-usage-tokens': String(TOKENS) }, cost: TOKENS });
  if (example === 'llm-tokens') return (request) => usageAnswer(request, TOKENS);
  if (example !== 'recipes') return undefined;
  return (request) => {
    if (/login/i.test(request.target)) return { status: 401 };
    return /chat/i.test(request.target) ? usageJson(request, { cost: RECIPE_TOKENS, kind: Number(fieldOf(request, 'x-answer') ?? 0) }) : {};
  };
}

function usageAnswer(request: Pick<Received, 'head'>, cost: number): Answer {
  const kind = Number(fieldOf(request, 'x-answer') ?? 0) || 0;
  if (kind === 10) return { headers: { 'x-usage-tokens': String(cost) }, cost };
  if (kind < 7) return usageJson(request, { cost, kind });
  const events = `data: {"usage":null}\n\ndata: {"usage":{"total_tokens":${cost}}}\n\ndata: [DONE]\n\n`;
  return { headers: { 'content-type': kind === 7 ? 'text/event-stream' : 'text/event-stream; charset=utf-8' }, body: events, cost };
}

function usageJson(request: Pick<Received, 'head'>, { cost, kind }: { readonly cost: number; readonly kind: number }): Answer {
  const json = `{"usage":{"total_tokens":${cost}}}`;
  const headers = { 'content-type': USAGE_TYPES[kind % USAGE_TYPES.length] ?? '' };
  // As servers do for those who accept it.
  if (!/gzip/i.test(fieldOf(request, 'accept-encoding') ?? '')) return { headers, body: json, cost };
  return { headers: { ...headers, 'content-encoding': 'gzip' }, body: gzipSync(json), cost };
}
