/** The mode of a rule: the effect on the request of a take that does not fit. */

export type Mode = 'enforced' | 'quota' | 'shadow';
