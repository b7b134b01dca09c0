/** Says what is wrong with a YAML text in plain words: the library's own words are those of the grammar. */

import type { YAMLError } from 'yaml';

export interface YamlProblem {
  readonly offset: number;
  readonly message: string;
}

const SAME_COLUMN = 'all of them must start in the same column';

/** How the library's words begin, and what a person has written. */
const PLAIN: readonly (readonly [begins: string, says: string])[] = [
  ['All mapping items must start at the same column', `is indented differently from the keys before it: ${SAME_COLUMN}`],
  ['All sequence items must start at the same column', `is indented differently from the items of the list before it: ${SAME_COLUMN}`],
  [
    'A block sequence may not be used as an implicit map key',
    `is indented differently from the items of the list before it: ${SAME_COLUMN}`,
  ],
  [
    'Sequence item without - indicator',
    'is indented too little to belong to the item of the list before it: indent it as the keys of that item',
  ],
  [
    'Nested mappings are not allowed in compact mappings',
    'has a second colon, or the line below it is indented too far: write each key on a line of its own, in the column of the keys beside it, and quote a text with a colon',
  ],
  ['Tabs are not allowed', 'Tabs are not allowed as indentation; use spaces'],
];

/** One for each line that plain words describe, because further errors of that line follow from the first one. */
export function describeErrors(errors: readonly YAMLError[], lineAt: (offset: number) => number): readonly YamlProblem[] {
  const described = new Set<number>();
  return [...errors]
    .sort((one, other) => one.pos[0] - other.pos[0])
    .flatMap((error) => {
      const offset = error.pos[0];
      const line = lineAt(offset);
      if (described.has(line)) return [];
      const plain = plainWords(error);
      if (plain !== undefined) described.add(line);
      return [{ offset, message: plain ?? ofGrammar(error) }];
    });
}

function plainWords({ message }: YAMLError): string | undefined {
  const says = PLAIN.find(([begins]) => message.startsWith(begins))?.[1];
  return says?.startsWith('Tabs') === true ? `not valid YAML: ${says}` : says;
}

function ofGrammar({ code, message }: YAMLError): string {
  return code === 'TAG_RESOLVE_FAILED' ? `${message}; tags have no meaning here, so remove it` : `not valid YAML: ${message}`;
}
