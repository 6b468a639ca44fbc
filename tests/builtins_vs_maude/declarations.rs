//! The modules whose operators are tested, one line for each declaration:
//! `sort A B`, `subsort A B < C`, or `op name : domain -> range | hook data | hooks`.

pub const NAT: &str = "
sort Bool
sort Zero NzNat Nat
subsort Zero NzNat < Nat
op true : -> Bool | SystemTrue
op false : -> Bool | SystemFalse
op 0 : -> Zero
op s_ : Nat -> NzNat | SuccSymbol | zeroTerm=0
op _+_ : NzNat Nat -> NzNat | ACU_NumberOpSymbol + | succSymbol
op _+_ : Nat Nat -> Nat
op sd : Nat Nat -> Nat | CUI_NumberOpSymbol sd | succSymbol
op _*_ : NzNat NzNat -> NzNat | ACU_NumberOpSymbol * | succSymbol
op _*_ : Nat Nat -> Nat
op _quo_ : Nat NzNat -> Nat | NumberOpSymbol quo | succSymbol
op _rem_ : Nat NzNat -> Nat | NumberOpSymbol rem | succSymbol
op _^_ : Nat Nat -> Nat | NumberOpSymbol ^ | succSymbol
op _^_ : NzNat Nat -> NzNat
op modExp : [Nat] [Nat] [Nat] -> [Nat] | NumberOpSymbol modExp | succSymbol
op gcd : NzNat Nat -> NzNat | ACU_NumberOpSymbol gcd | succSymbol
op gcd : Nat Nat -> Nat
op lcm : NzNat NzNat -> NzNat | ACU_NumberOpSymbol lcm | succSymbol
op lcm : Nat Nat -> Nat
op min : NzNat NzNat -> NzNat | ACU_NumberOpSymbol min | succSymbol
op min : Nat Nat -> Nat
op max : NzNat Nat -> NzNat | ACU_NumberOpSymbol max | succSymbol
op max : Nat Nat -> Nat
op _xor_ : Nat Nat -> Nat | ACU_NumberOpSymbol xor | succSymbol
op _&_ : Nat Nat -> Nat | ACU_NumberOpSymbol & | succSymbol
op _|_ : NzNat Nat -> NzNat | ACU_NumberOpSymbol | | succSymbol
op _|_ : Nat Nat -> Nat
op _>>_ : Nat Nat -> Nat | NumberOpSymbol >> | succSymbol
op _<<_ : Nat Nat -> Nat | NumberOpSymbol << | succSymbol
op _<_ : Nat Nat -> Bool | NumberOpSymbol < | succSymbol truth
op _<=_ : Nat Nat -> Bool | NumberOpSymbol <= | succSymbol truth
op _>_ : Nat Nat -> Bool | NumberOpSymbol > | succSymbol truth
op _>=_ : Nat Nat -> Bool | NumberOpSymbol >= | succSymbol truth
op _divides_ : NzNat Nat -> Bool | NumberOpSymbol divides | succSymbol truth
op random : Nat -> Nat | RandomOpSymbol | succSymbol
op a : -> Nat
op b : -> Nat
";

pub const INT: &str = "
sort NzInt Int
subsort NzNat < NzInt
subsort NzInt Nat < Int
op -_ : NzNat -> NzInt | MinusSymbol | succSymbol minusSymbol
op -_ : NzInt -> NzInt
op -_ : Int -> Int
op _+_ : Int Int -> Int | ACU_NumberOpSymbol + | minusSymbol
op _-_ : Int Int -> Int | NumberOpSymbol - | succSymbol minusSymbol
op _*_ : NzInt NzInt -> NzInt | ACU_NumberOpSymbol * | minusSymbol
op _*_ : Int Int -> Int
op _quo_ : Int NzInt -> Int | NumberOpSymbol quo | minusSymbol
op _rem_ : Int NzInt -> Int | NumberOpSymbol rem | minusSymbol
op _^_ : Int Nat -> Int | NumberOpSymbol ^ | minusSymbol
op _^_ : NzInt Nat -> NzInt
op abs : NzInt -> NzNat | NumberOpSymbol abs | succSymbol minusSymbol
op abs : Int -> Nat
op gcd : NzInt Int -> NzNat | ACU_NumberOpSymbol gcd | minusSymbol
op gcd : Int Int -> Nat
op lcm : NzInt NzInt -> NzNat | ACU_NumberOpSymbol lcm | minusSymbol
op lcm : Int Int -> Nat
op min : NzInt NzInt -> NzInt | ACU_NumberOpSymbol min | minusSymbol
op min : Int Int -> Int
op max : NzInt NzInt -> NzInt | ACU_NumberOpSymbol max | minusSymbol
op max : Int Int -> Int
op max : NzNat Int -> NzNat
op max : Nat Int -> Nat
op ~_ : Int -> Int | NumberOpSymbol ~ | succSymbol minusSymbol
op _xor_ : Int Int -> Int | ACU_NumberOpSymbol xor | minusSymbol
op _&_ : Nat Int -> Nat | ACU_NumberOpSymbol & | minusSymbol
op _&_ : Int Int -> Int
op _|_ : NzInt Int -> NzInt | ACU_NumberOpSymbol | | minusSymbol
op _|_ : Int Int -> Int
op _>>_ : Int Nat -> Int | NumberOpSymbol >> | minusSymbol
op _<<_ : Int Nat -> Int | NumberOpSymbol << | minusSymbol
op _<_ : Int Int -> Bool | NumberOpSymbol < | minusSymbol
op _<=_ : Int Int -> Bool | NumberOpSymbol <= | minusSymbol
op _>_ : Int Int -> Bool | NumberOpSymbol > | minusSymbol
op _>=_ : Int Int -> Bool | NumberOpSymbol >= | minusSymbol
op _divides_ : NzInt Int -> Bool | NumberOpSymbol divides | minusSymbol
";

pub const RAT: &str = "
sort PosRat NzRat Rat
subsort NzInt < NzRat
subsort NzRat Int < Rat
subsort NzNat < PosRat
subsort PosRat < NzRat
op _/_ : NzInt NzNat -> NzRat | DivisionSymbol | succSymbol minusSymbol
op _/_ : NzNat NzNat -> PosRat
op _/_ : PosRat PosRat -> PosRat
op _/_ : NzRat NzRat -> NzRat
op _/_ : Rat NzRat -> Rat
";

pub const FLOAT: &str = "
sort FiniteFloat Float
subsort FiniteFloat < Float
op <Floats> : -> FiniteFloat | FloatSymbol
op <Floats> : -> Float
op -_ : Float -> Float | FloatOpSymbol - | floatSymbol
op -_ : FiniteFloat -> FiniteFloat
op _+_ : Float Float -> Float | FloatOpSymbol + | floatSymbol
op _-_ : Float Float -> Float | FloatOpSymbol - | floatSymbol
op _*_ : Float Float -> Float | FloatOpSymbol * | floatSymbol
op _/_ : [Float] [Float] -> [Float] | FloatOpSymbol / | floatSymbol
op _rem_ : [Float] [Float] -> [Float] | FloatOpSymbol rem | floatSymbol
op _^_ : [Float] [Float] -> [Float] | FloatOpSymbol ^ | floatSymbol
op abs : Float -> Float | FloatOpSymbol abs | floatSymbol
op abs : FiniteFloat -> FiniteFloat
op floor : Float -> Float | FloatOpSymbol floor | floatSymbol
op ceiling : Float -> Float | FloatOpSymbol ceiling | floatSymbol
op min : Float Float -> Float | FloatOpSymbol min | floatSymbol
op max : Float Float -> Float | FloatOpSymbol max | floatSymbol
op sqrt : [Float] -> [Float] | FloatOpSymbol sqrt | floatSymbol
op exp : Float -> Float | FloatOpSymbol exp | floatSymbol
op log : [Float] -> [Float] | FloatOpSymbol log | floatSymbol
op sin : Float -> Float | FloatOpSymbol sin | floatSymbol
op cos : Float -> Float | FloatOpSymbol cos | floatSymbol
op tan : Float -> Float | FloatOpSymbol tan | floatSymbol
op asin : [Float] -> [Float] | FloatOpSymbol asin | floatSymbol
op acos : [Float] -> [Float] | FloatOpSymbol acos | floatSymbol
op atan : Float -> Float | FloatOpSymbol atan | floatSymbol
op atan : Float Float -> Float | FloatOpSymbol atan | floatSymbol
op _<_ : Float Float -> Bool | FloatOpSymbol < | floatSymbol truth
op _<=_ : Float Float -> Bool | FloatOpSymbol <= | floatSymbol truth
op _>_ : Float Float -> Bool | FloatOpSymbol > | floatSymbol truth
op _>=_ : Float Float -> Bool | FloatOpSymbol >= | floatSymbol truth
";

pub const STRING: &str = "
sort String Char FindResult
subsort Char < String
subsort Nat < FindResult
op <Strings> : -> Char | StringSymbol
op <Strings> : -> String
op notFound : -> FindResult
op ascii : Char -> Nat | StringOpSymbol ascii | stringSymbol succSymbol
op char : [Nat] -> [Char] | StringOpSymbol char | stringSymbol succSymbol
op _+_ : String String -> String | StringOpSymbol + | stringSymbol
op length : String -> Nat | StringOpSymbol length | stringSymbol succSymbol
op substr : String Nat Nat -> String | StringOpSymbol substr | stringSymbol succSymbol
op find : String String Nat -> FindResult | StringOpSymbol find | stringSymbol succSymbol notFoundTerm=notFound
op rfind : String String Nat -> FindResult | StringOpSymbol rfind | stringSymbol succSymbol notFoundTerm=notFound
op _<_ : String String -> Bool | StringOpSymbol < | stringSymbol truth
op _<=_ : String String -> Bool | StringOpSymbol <= | stringSymbol truth
op _>_ : String String -> Bool | StringOpSymbol > | stringSymbol truth
op _>=_ : String String -> Bool | StringOpSymbol >= | stringSymbol truth
op upperCase : String -> String | StringOpSymbol upperCase | stringSymbol
op lowerCase : String -> String | StringOpSymbol lowerCase | stringSymbol
";

pub const CONVERSION: &str = "
sort DecFloat
op <_`,_`,_> : Int String Int -> DecFloat
op float : Rat -> Float | FloatOpSymbol float | floatSymbol succSymbol minusSymbol divisionSymbol
op rat : FiniteFloat -> Rat | FloatOpSymbol rat | floatSymbol succSymbol minusSymbol divisionSymbol
op string : [Rat] [Nat] -> [String] | StringOpSymbol string | stringSymbol succSymbol minusSymbol divisionSymbol
op rat : [String] [Nat] -> [Rat] | StringOpSymbol rat | stringSymbol succSymbol minusSymbol divisionSymbol
op string : Float -> String | StringOpSymbol string | stringSymbol floatSymbol
op float : [String] -> [Float] | StringOpSymbol float | stringSymbol floatSymbol
op decFloat : Float Nat -> DecFloat | StringOpSymbol decFloat | stringSymbol floatSymbol succSymbol minusSymbol decFloatSymbol
";

pub const QID: &str = "
sort Qid
op <Qids> : -> Qid | QuotedIdentifierSymbol
op string : Qid -> String | QuotedIdentifierOpSymbol string | quotedIdentifierSymbol stringSymbol
op qid : [String] -> [Qid] | QuotedIdentifierOpSymbol qid | quotedIdentifierSymbol stringSymbol
";

pub const LEXICAL: &str = "
sort NeQidList QidList
subsort Qid < NeQidList
subsort NeQidList < QidList
op nil : -> QidList
op __ : QidList QidList -> QidList
op __ : NeQidList QidList -> NeQidList
op __ : QidList NeQidList -> NeQidList
op printTokens : QidList -> String | QuotedIdentifierOpSymbol printTokens | quotedIdentifierSymbol stringSymbol nilQidListSymbol qidListSymbol
op tokenize : String -> QidList | QuotedIdentifierOpSymbol tokenize | quotedIdentifierSymbol stringSymbol nilQidListSymbol qidListSymbol
";
