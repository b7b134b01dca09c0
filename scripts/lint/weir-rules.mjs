/** The lint rules that this project alone has, as a plugin of oxlint. */

/** @typedef {{ readonly type: string }} Node */
/** @typedef {{ readonly report: (fault: { readonly node: Node, readonly message: string }) => void }} Context */

const NO_ENUM = 'Declare a union of texts instead of an enum.';
const NO_SPREAD_FIRST =
  'An object that begins with a spread and has more gets a hidden class of its own (of V8 on Node 20: each time), and all that read it slow down: begin with a property.';

export default {
  meta: { name: 'weir' },
  rules: {
    'no-enum': {
      /** @param {Context} context */
      create: ({ report }) => ({
        /** @param {Node} node */
        TSEnumDeclaration(node) {
          report({ node, message: NO_ENUM });
        },
      }),
    },
    'no-spread-first': {
      /** @param {Context} context */
      create: ({ report }) => ({
        /** @param {{ readonly properties: readonly Node[] }} node */
        ObjectExpression({ properties: [first, second] }) {
          if (first?.type === 'SpreadElement' && second !== undefined) report({ node: second, message: NO_SPREAD_FIRST });
        },
      }),
    },
  },
};
