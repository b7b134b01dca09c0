/** A YAML document for the schema: scalars keep their source text, and every node keeps its offset. */

export type ConfigNode = ScalarNode | ListNode | MapNode;

interface Placed {
  /** Offset in the file's text. A node behind an alias has the offset of its anchor. */
  readonly offset: number;
  /** Number of nodes in it, itself included; repeated by aliases, they count each time. */
  readonly size: number;
}

export interface ScalarNode extends Placed {
  readonly kind: 'scalar';
  readonly text: string;
  /** Neither quoted nor a block nor tagged: only plain text can be a boolean, a number or null. */
  readonly plain: boolean;
}

export interface ListNode extends Placed {
  readonly kind: 'list';
  /** Number of items. */
  readonly length: number;
  /** The nodes may be new objects on each iteration. */
  readonly items: Iterable<ConfigNode>;
}

export interface MapNode extends Placed {
  readonly kind: 'map';
  readonly fields: ReadonlyMap<string, MapField>;
}

export interface MapField {
  readonly keyOffset: number;
  readonly value: ConfigNode;
}

const NULLS: ReadonlySet<string> = new Set(['', '~', 'null', 'Null', 'NULL']);

/** Whether a node is null, so that its field counts as absent. */
export function isNull(node: ConfigNode): boolean {
  return node.kind === 'scalar' && node.plain && isNullText(node.text);
}

/** Whether plain text is YAML's null. */
export function isNullText(text: string): boolean {
  return NULLS.has(text);
}
