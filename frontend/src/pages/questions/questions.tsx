// The open questions and approvals, above whatever page is shown.
export default function Questions() {
  return null;
}
