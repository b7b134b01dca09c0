/** The trees of tenants of a store in memory: refuses cycles, trees that are too deep, and the deletion of a parent. Twin of the tree in `lua/control-write.lua`. */

import { TENANT_LEVELS_MAX } from '../../../domain/rule/pool';

/** Most tenants directly below one: a page of them looks at all. */
export const CHILDREN_MAX = 100_000;

/**
 * Why a tree refuses a change. `cycle`: the parent is below the tenant. `depth`: the tree would have more than `TENANT_LEVELS_MAX` levels.
 * `children`: the deleted tenant has some. `crowd`: the parent has `CHILDREN_MAX` already.
 */
export const TREE_PROBLEMS = ['cycle', 'depth', 'children', 'crowd'] as const;

export type TreeProblem = (typeof TREE_PROBLEMS)[number];

/** How many tenants are one, two and three levels below. */
type Below = readonly number[];

const NOTHING_BELOW: Below = new Array<number>(TENANT_LEVELS_MAX - 1).fill(0);

/** Tenants are named by their fields (`fieldOf`). */
interface TreeView {
  parentOf(field: string): string | undefined;
  belowOf(field: string): Below;
}

/** A change of a tenant's record: its new parent, or its deletion. */
export interface TreeChange {
  readonly field: string;
  readonly parent: string | undefined;
  readonly isDeleted: boolean;
}

/** The first change that the tree refuses, by its index. */
export interface TreeRefusal {
  readonly index: number;
  readonly problem: TreeProblem;
  /** For `children`: how many. */
  readonly count: number;
}

export class TenantTree implements TreeView {
  private readonly parents = new Map<string, string>();
  private readonly below = new Map<string, Below>();

  parentOf(field: string): string | undefined {
    return this.parents.get(field);
  }

  belowOf(field: string): Below {
    return this.below.get(field) ?? NOTHING_BELOW;
  }

  /** Undefined: all of the changes together leave trees. */
  refusalOf(changes: readonly TreeChange[]): TreeRefusal | undefined {
    const draft = new DraftTree(this);
    // A tenant that stays closes no cycle: the one that moves is to blame.
    const isMoved = changes.map(({ field, parent }) => this.parentOf(field) !== parent);
    for (const [index, { field }] of changes.entries()) if (isMoved[index] === true) draft.detach(field);
    for (const [index, { field, parent }] of changes.entries()) {
      if (isMoved[index] !== true) continue;
      const problem = parent === undefined ? undefined : draft.problemOf(field, parent);
      if (problem !== undefined) return { index, problem, count: 0 };
      if (parent !== undefined) draft.attach(field, parent);
    }
    for (const [index, { field, isDeleted }] of changes.entries()) {
      const [children = 0] = draft.belowOf(field);
      if (isDeleted && children > 0) return { index, problem: 'children', count: children };
    }
    return undefined;
  }

  /** Puts a tenant below another, or at the top. Not checked: stores load what they have accepted before. */
  link(field: string, parent: string | undefined): void {
    if (this.parents.get(field) === parent) return;
    const draft = new DraftTree(this);
    draft.detach(field);
    if (parent !== undefined) draft.attach(field, parent);
    for (const [each, counts] of draft.below) {
      if (counts.every((count) => count === 0)) this.below.delete(each);
      else this.below.set(each, counts);
    }
    if (parent === undefined) this.parents.delete(field);
    else this.parents.set(field, parent);
  }
}

/** A tree with changes that are not made yet. */
class DraftTree implements TreeView {
  readonly below = new Map<string, Below>();
  private readonly parents = new Map<string, string | undefined>();

  constructor(private readonly base: TreeView) {}

  parentOf(field: string): string | undefined {
    return this.parents.has(field) ? this.parents.get(field) : this.base.parentOf(field);
  }

  belowOf(field: string): Below {
    return this.below.get(field) ?? this.base.belowOf(field);
  }

  detach(field: string): void {
    const parent = this.parentOf(field);
    this.parents.set(field, undefined);
    if (parent !== undefined) this.count({ field, parent, sign: -1 });
  }

  attach(field: string, parent: string): void {
    this.count({ field, parent, sign: 1 });
    this.parents.set(field, parent);
  }

  problemOf(field: string, parent: string): TreeProblem | undefined {
    let levels = 0;
    for (let at: string | undefined = parent; at !== undefined && levels <= TENANT_LEVELS_MAX; at = this.parentOf(at)) {
      if (at === field) return 'cycle';
      levels += 1;
    }
    const height = this.belowOf(field).findLastIndex((count) => count > 0) + 1;
    if (levels + 1 + height > TENANT_LEVELS_MAX) return 'depth';
    return (this.belowOf(parent)[0] ?? 0) >= CHILDREN_MAX ? 'crowd' : undefined;
  }

  /** Adds the tenant and all below it to those below each tenant above, or takes them away. */
  private count({ field, parent, sign }: { readonly field: string; readonly parent: string; readonly sign: 1 | -1 }): void {
    const moved = [1, ...this.belowOf(field)];
    let distance = 0;
    for (let at: string | undefined = parent; at !== undefined && distance < NOTHING_BELOW.length; at = this.parentOf(at)) {
      const from = distance;
      this.below.set(
        at,
        this.belowOf(at).map((count, i) => Math.max(0, count + sign * (i < from ? 0 : (moved[i - from] ?? 0)))),
      );
      distance += 1;
    }
  }
}
