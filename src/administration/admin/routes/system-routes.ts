/** The routes of the running system: rules, settings, top keys and the caller. */

import { Type } from '@sinclair/typebox';
import { toText } from '../../../domain/descriptor/byte-string';
import type { RuleSet } from '../../../domain/rule/rule-set';
import type { Rule } from '../../../domain/rule/rule';
import { GROUPS } from '../../../configuration/settings/table/setting-row';
import { rulesOf } from '../../../domain/rule/tree';
import { TOP_COUNT_MAX, TOP_MINUTES, TOP_QUESTIONS } from '../../../state/top/top-keys';
import type { CurrentRules } from '../backend';
import { AdminProblem } from '../problem';
import { ROLES } from '../role';
import { instances } from './instances-route';
import { route, type AdminRoute } from '../route/route';
import { domain, next, object, page, shownLimit, shownValues } from '../route/schemas';
import { snakeKeys } from '../route/snake-keys';

const TAG = 'system';

const whoami = route({
  method: 'GET',
  path: '/v1/whoami',
  id: 'whoami',
  tag: TAG,
  role: 'viewer',
  summary: 'Shows the name and the role of the caller.',
  reply: object({ name: Type.String(), role: Type.Union(ROLES.map((role) => Type.Literal(role))) }),
  handle: ({ caller: { name, role } }) => Promise.resolve({ body: { name, role } }),
});

const rule = object({
  domain: Type.String(),
  rule: Type.String({ description: "The rule's path, joined with dots, as in the names of metrics." }),
  depth: Type.Integer({ minimum: 1, description: 'Its level in the tree; 1: at the top.' }),
  unlimited: Type.Boolean(),
  shadow_mode: Type.Boolean(),
  quota_mode: Type.Boolean(),
  tenants: Type.Boolean({ description: 'Whether the limits come from the plan of the tenant; `limits` are those of the default plan.' }),
  file: Type.Optional(Type.String({ description: 'The file that declares the rule.' })),
  line: Type.Optional(Type.Integer({ minimum: 1 })),
  limits: Type.Array(shownLimit),
});

interface RuleInDomain {
  readonly domain: string;
  readonly rule: Rule;
}

/** Where a rule is declared. */
interface Place {
  readonly file: string;
  /** Absent: the document never was text. */
  readonly line?: number;
}

/** The places of the rules of a rule set, made once. */
const placed = new WeakMap<RuleSet, ReadonlyMap<Rule, Place>>();

function placesIn({ ruleSet, levels }: CurrentRules): ReadonlyMap<Rule, Place> {
  const known = placed.get(ruleSet);
  if (known !== undefined) return known;
  const places = new Map<Rule, Place>();
  for (const { declared } of levels.values()) {
    for (const {
      spec: { problems, offset },
      node: { rule: declaredRule },
    } of declared) {
      const line = problems.lineAt(offset);
      if (declaredRule !== undefined) places.set(declaredRule, { file: problems.file, ...(line > 0 && { line }) });
    }
  }
  placed.set(ruleSet, places);
  return places;
}

/** The rules of a rule set in one list, made once. */
const listed = new WeakMap<RuleSet, readonly RuleInDomain[]>();

function rulesIn(ruleSet: RuleSet): readonly RuleInDomain[] {
  const known = listed.get(ruleSet);
  if (known !== undefined) return known;
  const all = Array.from(ruleSet.domains.values()).flatMap(({ name, root }) =>
    Array.from(rulesOf(root), ({ rule }) => ({ domain: toText(name), rule })),
  );
  listed.set(ruleSet, all);
  return all;
}

const rules = route({
  method: 'GET',
  path: '/v1/rules',
  id: 'listRules',
  tag: TAG,
  role: 'viewer',
  summary: 'Lists the rules in force, the generation of the configuration, its warnings, and why a newer one was rejected.',
  query: object({ ...page, domain: Type.Optional(domain) }),
  reply: object({
    generation: Type.Integer({ minimum: 0, description: '0: no configuration is loaded yet.' }),
    warnings: Type.Array(Type.String()),
    refused: Type.Array(Type.String(), { description: 'Problems of the newest configuration; empty if it is in force.' }),
    items: Type.Array(rule),
    next,
  }),
  problems: ['conflict'],
  handle: ({ query, pageMax }, { rules: { current, problems } }) => {
    const inForce = current();
    const refused = [...problems()];
    if (inForce === undefined) return Promise.resolve({ body: { generation: 0, warnings: [], refused, items: [] } });
    const { ruleSet } = inForce;
    const { generation, warnings } = ruleSet;
    const places = placesIn(inForce);
    const begin = placeOf(query.cursor, generation);
    const all = rulesIn(ruleSet).filter((each) => query.domain === undefined || each.domain === query.domain);
    const end = begin + Math.min(pageMax, query.limit ?? pageMax);
    const items = all.slice(begin, end).map((each) => showRule(each, places.get(each.rule)));
    return Promise.resolve({
      body: { generation, warnings: [...warnings], refused, items, ...(end < all.length && { next: `${generation}-${end}` }) },
    });
  },
});

/** A cursor names a generation, because the places are those of its rules. */
function placeOf(cursor: string | undefined, generation: number): number {
  if (cursor === undefined) return 0;
  const [, of, place] = /^(\d{1,15})-(\d{1,15})$/.exec(cursor) ?? [];
  if (of === undefined || place === undefined) throw AdminProblem.ofField('query/cursor', 'it is not `next` of a page');
  if (Number(of) !== generation) throw new AdminProblem('conflict', 'another configuration came into force; begin with the first page');
  return Number(place);
}

function showRule(
  { domain: inDomain, rule: { path, unlimited, shadowMode, quotaMode, limits, tenant } }: RuleInDomain,
  place: Place | undefined,
) {
  return snakeKeys({
    domain: inDomain,
    rule: path.join('.'),
    depth: path.length,
    unlimited,
    shadowMode,
    quotaMode,
    tenants: tenant !== undefined,
    ...place,
    limits: limits.map(({ name, requestsPerUnit, unit, unitMultiplier, algorithm, capacity, show }) => ({
      name,
      requestsPerUnit,
      unit,
      unitMultiplier,
      algorithm,
      capacity,
      ...(show && { show }),
    })),
  });
}

const settings = route({
  method: 'GET',
  path: '/v1/settings',
  id: 'listSettings',
  tag: TAG,
  role: 'admin',
  summary: 'Lists the settings of this instance, without secrets, as `weir settings --format json`.',
  reply: object({
    settings: Type.Array(
      object({
        name: Type.String(),
        group: Type.Union(GROUPS.map((group) => Type.Literal(group))),
        value: Type.Union([Type.String(), Type.Null()], { description: 'As in the environment; null: unset. A set secret is `(secret)`.' }),
        source: Type.Union([Type.Literal('environment'), Type.Literal('default')]),
      }),
    ),
  }),
  handle: (_, backend) =>
    Promise.resolve({ body: { settings: backend.settings().settings.map((setting) => ({ ...setting, value: setting.value ?? null })) } }),
});

const top = route({
  method: 'GET',
  path: '/v1/top',
  id: 'listTopKeys',
  tag: TAG,
  role: 'viewer',
  summary: 'Lists the keys that ask most, are denied most, or are nearest to their limit, over all instances.',
  query: object({
    question: Type.Union(TOP_QUESTIONS.map((question) => Type.Literal(question))),
    minutes: Type.Optional(
      Type.Union(
        TOP_MINUTES.map((minutes) => Type.Literal(minutes)),
        { default: 10 },
      ),
    ),
    count: Type.Optional(Type.Integer({ minimum: 1, maximum: TOP_COUNT_MAX, default: 10 })),
    domain: Type.Optional(domain),
    rule: Type.Optional(Type.String({ minLength: 1, maxLength: 1024 })),
  }),
  reply: object({
    items: Type.Array(
      object({
        domain: Type.String(),
        rule: Type.String(),
        entries: Type.String({ description: '`key=value,key=value`; a long text is cut, and ends with a part of its hash.' }),
        count: Type.Number({ minimum: 0, description: 'Hits, never too low.' }),
        error: Type.Number({ minimum: 0, description: 'By how much `count` may be too high.' }),
        used_share: Type.Optional(Type.Number({ minimum: 0 })),
        remaining_share: Type.Optional(Type.Number({ minimum: 0 })),
        limit: Type.Optional(object(shownValues)),
      }),
    ),
    unlisted_max: Type.Number({ minimum: 0, description: 'A key that is not listed has at most this count.' }),
    total_hits: Type.Number({ minimum: 0 }),
    covered_ms: Type.Number({ minimum: 0 }),
    instances: Type.Integer({ minimum: 0 }),
    missing: Type.Integer({ minimum: 0, description: 'Live processes without a part in the answer.' }),
  }),
  problems: ['unavailable'],
  handle: async ({ query }, backend) => {
    const { question, minutes = 10, count = 10, domain: inDomain, rule: ofRule } = query;
    const answer = await backend.top.top({
      question,
      minutes,
      count,
      ...(inDomain !== undefined && { domain: inDomain }),
      ...(ofRule !== undefined && { rule: ofRule }),
    });
    return { body: snakeKeys(answer) };
  },
});

export const SYSTEM_ROUTES: readonly AdminRoute[] = [whoami, top, instances, rules, settings];
