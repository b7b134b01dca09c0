/** A YAML document as the schema reads it: scalars keep their source text, and every node knows where it stands. */

export type ConfigNode = ScalarNode | ListNode | MapNode;

interface Placed {
  /** In the file's text. What comes by an alias stands where its anchor is. */
  readonly offset: number;
  /** Nodes in it and below, each counted as often as aliases repeat it. */
  readonly size: number;
}

export interface ScalarNode extends Placed {
  readonly kind: 'scalar';
  readonly text: string;
  /** Neither quoted, nor a block, nor tagged: only such text can be a boolean, a number or null. */
  readonly plain: boolean;
}

export interface ListNode extends Placed {
  readonly kind: 'list';
  readonly items: readonly ConfigNode[];
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

/** Whether a node says nothing: the field is as good as absent. */
export function isNull(node: ConfigNode): boolean {
  return node.kind === 'scalar' && node.plain && NULLS.has(node.text);
}
