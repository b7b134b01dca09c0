/** Explains the search of a rule: which descriptor of the configuration matches each entry, and why the others do not. */

import type { DeclaredLevel } from '../compile/lint/declared-level';
import type { DescriptorSpec } from '../compile/read/read-file';
import { toByteString, toText } from '../../domain/descriptor/byte-string';
import type { Entry } from '../../domain/descriptor/descriptor';
import { includes, parseClient } from '../../lib/address';
import { compileWildcard, matchesWildcard } from '../../domain/descriptor/wildcard';
import type { Domain } from '../../domain/rule/rule-set';
import { endsInLast, findChild, type DescriptorLevel, type DescriptorNode } from '../../domain/rule/tree';

/** The most descriptors of one level that are listed; readers stop long before thousands. */
export const COMPARED_MAX = 20;

export interface LevelExplanation {
  readonly entry: Entry;
  readonly winner?: ComparedDescriptor;
  /** Descriptors that match come first. */
  readonly losers: readonly ComparedDescriptor[];
  /** Further descriptors with this key that are not listed. */
  readonly omitted: number;
  /** Descriptors with other keys on this level. */
  readonly otherKeys: number;
}

export interface ComparedDescriptor {
  readonly file: string;
  readonly line: number;
  readonly key: string;
  /** Absent: the descriptor has only a key. */
  readonly value?: string;
  readonly reason: string;
}

export interface Descent {
  readonly levels: readonly LevelExplanation[];
  /** The descriptor that matches the last entry. */
  readonly node?: DescriptorNode | undefined;
  /** The same as written; absent if the levels are not known. */
  readonly spec?: DescriptorSpec | undefined;
}

export const NO_DESCENT: Descent = { levels: [] };

interface DescendInput {
  readonly domain: Domain;
  /** Every level of the rule set, as declared. */
  readonly levels: ReadonlyMap<DescriptorLevel, DeclaredLevel>;
  readonly entries: readonly Entry[];
}

/** Follows the steps of `findNode`, level by level. */
export function descend({ domain, levels, entries }: DescendInput): Descent {
  const explained: LevelExplanation[] = [];
  let level = domain.root;
  let node: DescriptorNode | undefined;
  let spec: DescriptorSpec | undefined;
  for (const entry of entries) {
    const winner = findChild(level, entry);
    // The rule is found; what follows says the class.
    if (winner === undefined && endsInLast(node, entries)) break;
    node = winner;
    const declared = levels.get(level);
    explained.push(explainLevel(declared, { entry, winner }));
    spec = winner && declared?.declared.find((each) => each.node === winner)?.spec;
    if (node === undefined) break;
    level = node.children;
  }
  return { levels: explained, node, spec };
}

/** How a descriptor matches an entry, by precedence. */
const KINDS = ['exact', 'address range', 'wildcard', 'key alone'] as const;

type Kind = (typeof KINDS)[number];

const WINS: Readonly<Record<Kind, string>> = {
  exact: 'exact match',
  'address range': 'address range with the longest prefix that includes it',
  wildcard: 'first declared wildcard that matches',
  'key alone': 'matches every value that nothing else matches',
};

const LOSES_TO: Readonly<Record<Kind, string>> = {
  exact: 'matches too, but an exact value wins',
  'address range': 'matches too, but an address range with a longer prefix wins',
  wildcard: 'matches too, but a wildcard declared earlier wins',
  'key alone': 'matches too, and wins',
};

interface Contender {
  readonly spec: DescriptorSpec;
  readonly node: DescriptorNode;
  readonly kind: Kind;
  readonly takes: boolean;
}

function explainLevel(
  declaredLevel: DeclaredLevel | undefined,
  { entry, winner }: { readonly entry: Entry; readonly winner: DescriptorNode | undefined },
): LevelExplanation {
  const declared = declaredLevel?.declared ?? [];
  const contenders: Contender[] = declared
    .filter(({ spec }) => takesKey(spec, entry))
    .map(({ spec, node }) => ({ spec, node, kind: kindOf(spec), takes: takesValue(spec, entry) }));
  const chances = contenders.filter(({ takes }) => takes).sort((one, other) => KINDS.indexOf(one.kind) - KINDS.indexOf(other.kind));
  const ordered = [...chances, ...contenders.filter(({ takes }) => !takes)];
  const won = ordered.find(({ node }) => node === winner);
  const toCompared = (
    { spec, kind, takes }: Contender,
    reason = takes ? losesTo(kind, won?.kind) : 'has another value',
  ): ComparedDescriptor => ({
    file: spec.problems.file,
    line: spec.problems.lineAt(spec.offset),
    key: spec.key,
    ...(spec.value !== '' && { value: spec.value }),
    reason,
  });
  const losers = ordered.filter((contender) => contender !== won);
  return {
    entry: entryText(entry),
    ...(won && { winner: toCompared(won, WINS[won.kind]) }),
    losers: losers.slice(0, COMPARED_MAX).map((loser) => toCompared(loser)),
    omitted: Math.max(0, losers.length - COMPARED_MAX),
    otherKeys: declared.length - contenders.length,
  };
}

function losesTo(own: Kind, won: Kind | undefined): string {
  if (won === 'address range' && own !== won) return `matches too, but an address range wins over a ${own}`;
  if (own === 'key alone' && won === 'wildcard') return 'matches too, but a wildcard wins over a key alone';
  return LOSES_TO[won ?? own];
}

function kindOf({ key, value, network }: DescriptorSpec): Kind {
  if (network !== undefined) return 'address range';
  if (key.includes('*') || value.includes('*')) return 'wildcard';
  return value === '' ? 'key alone' : 'exact';
}

function takesKey({ key }: DescriptorSpec, entry: Entry): boolean {
  return matchesWildcard(compileWildcard(toByteString(key)), entry.key);
}

function takesValue({ value, network }: DescriptorSpec, entry: Entry): boolean {
  if (network !== undefined) {
    const client = parseClient(entry.value);
    return client !== undefined && includes(network, client);
  }
  return value === '' || matchesWildcard(compileWildcard(toByteString(value)), entry.value);
}

export function entryText({ key, value }: Entry): Entry {
  return { key: toText(key), value: toText(value) };
}
