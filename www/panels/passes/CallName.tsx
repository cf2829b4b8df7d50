import { callArguments } from "../../state/calls";

/** Characters of a name that fit into a row at every width of the page, and how many an indentation takes. */
const SHORT = 14;
const INDENTATION = 3;

/** The name of a pass and the arguments of its call; clipped only where it may be wider than its row. */
export function CallName(props: { name: string; call: string; depth: number }) {
  const given = () => {
    const inner = callArguments(props.call);
    return inner ? `(${inner})` : "";
  };
  const length = () => props.name.length + given().length + INDENTATION * props.depth;
  return (
    <span class="name" classList={{ long: length() > SHORT }}>
      {props.name}
      <span class="arguments">{given()}</span>
    </span>
  );
}
