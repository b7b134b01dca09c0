/** Finds the descriptors of a domain under which a tenant is limited. */

import type { DeclaredLevel } from '../compile/lint/declared-level';
import type { DescriptorSpec } from '../compile/read/read-file';
import { toByteString } from '../../domain/descriptor/byte-string';
import type { ByteString, Entry } from '../../domain/descriptor/descriptor';
import { compileWildcard, matchesWildcard } from '../../domain/descriptor/wildcard';
import type { Domain } from '../../domain/rule/rule-set';
import type { DescriptorLevel } from '../../domain/rule/tree';

export interface TenantDescriptor {
  /** The entries of a request; those of `needs` are missing. */
  readonly entries: readonly Entry[];
  /** Keys of entries above the tenant whose value the configuration leaves open. Empty: the request is known. */
  readonly needs: readonly string[];
  /** Where the configuration has it. */
  readonly file: string;
  readonly line: number;
}

export interface TenantDescriptorsInput {
  readonly domain: Domain;
  /** Every level of the rule set, as declared. */
  readonly levels: ReadonlyMap<DescriptorLevel, DeclaredLevel>;
  readonly tenant: ByteString;
  /** Values of entries that the configuration leaves open, by key. */
  readonly given: ReadonlyMap<ByteString, ByteString>;
}

/** A descriptor with `tenant: true`, after those above it. */
type TenantPath = readonly DescriptorSpec[];

/** By the root of the domain: a configuration may have a hundred thousand descriptors. */
const paths = new WeakMap<DescriptorLevel, readonly TenantPath[]>();

/** In the order of the file. */
export function tenantDescriptors({ domain, levels, tenant, given }: TenantDescriptorsInput): TenantDescriptor[] {
  let found = paths.get(domain.root);
  if (found === undefined) {
    found = [...findPaths(domain.root, levels, [])];
    paths.set(domain.root, found);
  }
  return found.flatMap((path) => descriptorOf(path, { tenant, given }) ?? []);
}

function* findPaths(level: DescriptorLevel, levels: TenantDescriptorsInput['levels'], above: TenantPath): Generator<TenantPath> {
  for (const { spec, node } of levels.get(level)?.declared ?? []) {
    const path = [...above, spec];
    if (node.rule?.tenant !== undefined) yield path;
    yield* findPaths(node.children, levels, path);
  }
}

/** Undefined: the tenant is not one of the descriptor, or a pattern stands for a key. */
function descriptorOf(path: TenantPath, { tenant, given }: Pick<TenantDescriptorsInput, 'tenant' | 'given'>): TenantDescriptor | undefined {
  const last = path.at(-1);
  if (last === undefined || path.some(({ key }) => key.includes('*'))) return undefined;
  if (last.value !== '' && !matchesWildcard(compileWildcard(toByteString(last.value)), tenant)) return undefined;
  const needs: string[] = [];
  const entries = path.flatMap((spec): Entry[] => {
    const key = toByteString(spec.key);
    const isOpen = spec.value === '' || spec.value.includes('*');
    const value = spec === last ? tenant : isOpen ? given.get(key) : toByteString(spec.value);
    if (value !== undefined) return [{ key, value }];
    needs.push(spec.key);
    return [];
  });
  return { entries, needs, file: last.problems.file, line: last.problems.lineAt(last.offset) };
}
